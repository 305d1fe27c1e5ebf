"""Memory of a lesson with all its cells run, for places such as Binder that give 2 GiB.

`make bench ARGS=binder` runs lesson 04, which shows the largest explorer, and
``python -m benchmarks.binder NAME ...`` runs other notebooks. Linux only. Memory is PSS, see
`students`.
"""

import argparse
import tempfile
import threading
from pathlib import Path

import nbformat
import psutil
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from benchmarks.students import measure_server, pss

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
LESSON = "04_one_latent_many_processes"
INTERVAL = 0.2  # seconds between two looks


def peak_of(name: str) -> float:
    """The largest PSS of the kernel, in MiB, while it runs a notebook."""
    manager = KernelManager()
    client = NotebookClient(
        nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4),
        km=manager, timeout=600, resources={"metadata": {"path": str(NOTEBOOKS)}},
    )  # fmt: skip
    peak, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(INTERVAL):
            if manager.has_kernel:
                peak = max(peak, pss(psutil.Process(manager.provisioner.pid)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        client.execute()
    finally:
        done.set()
        watcher.join()
    return peak


def main() -> None:
    """Print a row for each notebook."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="*", default=[LESSON])
    names = parser.parse_args().notebooks
    with tempfile.TemporaryDirectory() as folder:
        server = measure_server(Path(folder))
    for name in names:
        kernel = peak_of(name)
        print(
            f"{name}: kernel {kernel:.0f} MiB at most, with the Jupyter server {server:.0f} MiB: "
            f"{(kernel + server) / 1024:.2f} GiB"
        )


if __name__ == "__main__":
    main()
