"""Memory and waiting time of a class: kernels with an explorer, ordinary ones and warm ones.

`make bench ARGS=students`. ``python -m benchmarks.students --save`` also stores the figures, for
the plan of `etgp-viz class init`. Linux only. Memory is PSS: a page that k processes share counts
1/k in each of them, so that the figures add up to what the machine needs.
"""

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import psutil
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from etgp_viz.files import write
from etgp_viz.hub import client
from etgp_viz.hub.plan import FIGURES, Figures, Plan

COUNTS = (1, 5, 10)
SERVERS = 4
MEMORY = 24  # GiB of the machine for the last line
PATIENCE = 120

# What a student does: an explorer on show, and a control that is moved.
EXPLORER = """
from IPython.display import display
from etgp_viz.explorers import FlowExplorer
explorer = FlowExplorer()
display(explorer)
explorer.controls["lengthscale"].value *= 1.5
"""


def pss(process: psutil.Process) -> float:
    """MiB of a process and all its children."""
    family = [process, *process.children(recursive=True)]
    return sum(member.memory_full_info().pss for member in family) / 2**20


def wait_for(condition, what: str) -> None:
    """Return as soon as a condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {PATIENCE} s for {what}")
        time.sleep(0.05)


@contextlib.contextmanager
def running(command: list[str], **options) -> Iterator[psutil.Popen]:
    """A process that is ended with the block."""
    process = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


@contextlib.contextmanager
def warm_process(folder: Path) -> Iterator[tuple[psutil.Process, Path]]:
    """The warm process, ready, and its socket."""
    path = folder / "kernels.sock"
    with running([sys.executable, "-I", "-m", "etgp_viz.hub.warm", str(path)]) as process:
        wait_for(path.exists, "the warm process")
        yield process, path


def start_kernel(
    path: Path, folder: Path, code: str = EXPLORER
) -> tuple[KernelManager, float, float]:
    """A kernel that shows an explorer; seconds until it answers, and until the explorer is there.

    Nobody listens at ``path`` for an ordinary kernel.
    """
    manager = KernelManager(connection_file=str(folder / f"{time.monotonic_ns()}.json"))
    manager._kernel_spec = KernelSpec(
        argv=[sys.executable, "-IS", client.__file__, str(path), "{connection_file}"]
    )
    start = time.perf_counter()
    manager.start_kernel(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    talk = manager.client()
    talk.start_channels()
    talk.wait_for_ready(PATIENCE)
    ready = time.perf_counter() - start
    reply = talk.execute_interactive(code, timeout=PATIENCE, output_hook=lambda message: None)
    if reply["content"]["status"] != "ok":
        raise RuntimeError("\n".join(reply["content"]["traceback"]))
    shown = time.perf_counter() - start
    talk.stop_channels()
    return manager, ready, shown


def measure_kernels(warm: psutil.Process | None, path: Path, folder: Path) -> tuple[float, float]:
    """Print a row for each count; MiB of one more kernel, and seconds to its explorer."""
    kernels: list[KernelManager] = []
    totals, seconds = {}, []
    try:
        for count in COUNTS:
            while len(kernels) < count:
                manager, ready, shown = start_kernel(path, folder)
                kernels.append(manager)
                seconds.append((ready, shown))
            # The kernels of the warm process are its children; their clients are ours.
            clients = sum(pss(psutil.Process(k.provisioner.pid)) for k in kernels)
            totals[count] = clients + (pss(warm) if warm else 0)
            ready, shown = (
                sorted(column)[len(column) // 2] for column in zip(*seconds, strict=True)
            )
            print(
                f"{'warm' if warm else 'ordinary':9} {count:3d} kernels  {totals[count]:6.0f} MiB, "
                f"{totals[count] / count:4.0f} each   answers after {ready:4.1f} s, "
                f"explorer after {shown:4.1f} s",
                flush=True,
            )
    finally:
        for manager in kernels:
            manager.shutdown_kernel(now=True)
    few, many = COUNTS[0], COUNTS[-1]
    return (totals[many] - totals[few]) / (many - few), shown


def measure_server(folder: Path) -> float:
    """MiB of a student's Jupyter server, one of several."""
    with contextlib.ExitStack() as stack:
        servers = []
        for number in range(SERVERS):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            home = folder / f"student{number}"
            home.mkdir()
            command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
            command += ["--ServerApp.ip=127.0.0.1", f"--port={port}", "--LabApp.news_url="]
            environment = {**os.environ, "HOME": str(home)}
            servers.append(stack.enter_context(running(command, cwd=home, env=environment)))
            wait_for(lambda port=port: _listens(port), "a Jupyter server")
        return sum(map(pss, servers)) / SERVERS


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 2):
        return True
    return False


def main() -> None:
    """Print the table and what it means for a machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help="store the figures in the package")
    save = parser.parse_args().save
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ordinary, ordinary_seconds = measure_kernels(None, folder / "nobody.sock", folder)
        with warm_process(folder) as (process, path):
            alone = pss(process)
            print(f"warm process alone      {alone:6.0f} MiB", flush=True)
            warm, warm_seconds = measure_kernels(process, path, folder)
        server = measure_server(folder)
        print(f"Jupyter server          {server:6.0f} MiB, one of {SERVERS}")
    values = (server, alone, ordinary, warm, ordinary_seconds, warm_seconds)
    found = Figures(*(round(value, 1) for value in values))
    if save:
        write(FIGURES, json.dumps(asdict(found), indent=1) + "\n")
    print(*Plan(students=1, memory=MEMORY, measured=found).lines()[:2], sep="\n")


if __name__ == "__main__":
    main()
