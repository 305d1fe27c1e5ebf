"""The machine a race runs on: what a result must say of it, and how much memory is left."""

import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

__all__ = ["available_memory", "describe"]

PACKAGES = ("etgp-viz", "gpflow", "tensorflow", "tensorflow-probability", "numpy", "gpytorch")


def describe() -> dict[str, Any]:
    """Processor, memory, system and versions; no names of hosts, people or folders."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": platform.system(),
        "versions": versions,
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"model name\s*:\s*(.+)", text)
    return found.group(1).strip() if found else platform.machine()


def available_memory(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes that a process can still take, within a container's limit if there is one."""
    free = psutil.virtual_memory().available
    try:
        limit = int((cgroup / "memory.max").read_text())  # "max" without a limit: no number
        used = int((cgroup / "memory.current").read_text())
    except (OSError, ValueError):
        return free
    return min(free, limit - used)
