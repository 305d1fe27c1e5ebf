"""The machine that results are measured on: its description, and its memory."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import threading
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

__all__ = ["MIB", "available_memory", "describe", "peak_memory", "resident_memory"]

MIB = 2**20

PACKAGES = ("etgp-viz", "gpflow", "tensorflow", "tensorflow-probability", "numpy", "gpytorch")


def describe() -> dict[str, Any]:
    """Processor, memory, system and versions; no names of hosts, people or folders."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": platform.system(),
        "versions": versions,
    }


def _processor() -> str:
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        name = re.search(r"model name\s*:\s*(.+)", text)
        return name.group(1).strip() if name else platform.machine()
    return platform.processor() or platform.machine()


def available_memory(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Bytes that a process can still take, within a container's limit if there is one."""
    free = psutil.virtual_memory().available
    try:
        limit = int((cgroup / "memory.max").read_text())  # without a limit the text is "max"
        used = int((cgroup / "memory.current").read_text())
    except (OSError, ValueError):
        return free
    return min(free, limit - used)


def resident_memory() -> int:
    """Resident memory (bytes) of this process."""
    return psutil.Process().memory_info().rss


def peak_memory(action: Callable[[], Any]) -> int:
    """Largest resident memory (bytes) of this process during a call."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    try:
        clear.write_text("5")  # resets the system's high-water mark to what is resident now
        has_mark = "VmHWM" in status.read_text()
    except OSError:
        has_mark = False
    if not has_mark:
        return _sampled_peak(action)
    action()
    kilobytes = re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]
    return int(kilobytes) * 1024


def _sampled_peak(action: Callable[[], Any]) -> int:
    """The same where the system keeps no high-water mark: sampled every millisecond."""
    peak, over = resident_memory(), threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.001):
            peak = max(peak, resident_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        action()
    finally:
        over.set()
        watcher.join()
    return peak
