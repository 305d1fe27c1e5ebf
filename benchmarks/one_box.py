"""A class on one machine: kernels with the explorer of lesson 04, all moving at the same time.

    python -m benchmarks.one_box        # thirty kernels
    python -m benchmarks.one_box 10

Linux only. The kernels come from the warm process, as on a hub of `etgp-viz class init`, and are
all asked for at once, as at nine o'clock. Each shows the explorer and then moves random controls,
one change after another with a second in between. Memory is PSS, as in `students`.

Goals for thirty kernels on two cores: 300 MiB each, all ready within two minutes, and no change
that takes longer than a second.
"""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
from jupyter_client.manager import KernelManager

from benchmarks import students

ROOT = Path(__file__).parents[1]
KERNELS, CHANGES, PAUSE = 30, 20, 1.0

SHOW = """
from IPython.display import display
from etgp_viz.explorers import SharedLatentExplorer
explorer = SharedLatentExplorer(**SharedLatentExplorer.presets["Straight maps"].values)
display(explorer)
"""
MOVE = f"""
import random, time
from etgp_viz.explorers import fields
controls, rng, seconds = fields.controls_of(explorer.State), random.Random({{seed}}), []
for _ in range({CHANGES}):
    time.sleep(rng.uniform(0.5, 1.5) * {PAUSE})
    name = rng.choice([name for name in controls if controls[name].when(explorer.state)])
    start = time.perf_counter()
    explorer.set(**{{{{name: rng.choice(controls[name].samples())}}}})
    seconds.append(time.perf_counter() - start)
print(*seconds)
"""
# One user asks for all kernels here; on a hub each student asks for a few.
WARM = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from etgp_viz.hub import warm
warm.KERNELS_PER_USER = 1000
sys.exit(warm.main(sys.argv[1:]))
"""


def run(manager: KernelManager, code: str) -> str:
    """What a kernel prints while it runs some code."""
    printed: list[str] = []

    def hear(message: dict) -> None:
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    talk = manager.client()
    talk.start_channels()
    try:
        talk.wait_for_ready(students.PATIENCE)
        reply = talk.execute_interactive(code, timeout=600, output_hook=hear)
    finally:
        talk.stop_channels()
    if reply["content"]["status"] != "ok":
        raise RuntimeError("\n".join(reply["content"]["traceback"]))
    return "".join(printed)


def measure(count: int, folder: Path) -> None:
    """Start the kernels, move them, and print what they took."""
    path = folder / "kernels.sock"
    command = [sys.executable, "-I", "-c", WARM, str(path)]
    with students.running(command) as warm, ThreadPoolExecutor(count) as pool:
        students.wait_for(path.exists, "the warm process")
        begin = time.perf_counter()
        started = pool.map(lambda _: students.start_kernel(path, folder, SHOW), range(count))
        kernels = [manager for manager, *_ in started]
        ready = time.perf_counter() - begin
        try:
            codes = [MOVE.format(seed=seed) for seed in range(count)]
            texts = list(pool.map(run, kernels, codes))
            # The kernels are children of the warm process; each has a client, a child of ours.
            clients = [psutil.Process(kernel.provisioner.pid) for kernel in kernels]
            memory = sum(map(students.pss, (warm, *clients)))
        finally:
            list(pool.map(lambda kernel: kernel.shutdown_kernel(now=True), kernels))
            students.wait_for(lambda: not warm.children(), "the end of the kernels")
    seconds = sorted(float(word) for text in texts for word in text.split())
    median, late = seconds[len(seconds) // 2], seconds[int(0.95 * len(seconds))]
    print(f"{'kernels':>8} {'ready':>8} {'memory of each':>15} {'change: median':>15} "
          f"{'95 %':>7} {'worst':>7} {'load':>6}")  # fmt: skip
    print(f"{count:8} {ready:6.0f} s {memory / count:11.0f} MiB {median:13.2f} s {late:5.2f} s "
          f"{seconds[-1]:5.2f} s {os.getloadavg()[0]:6.1f}")  # fmt: skip


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("count", nargs="?", type=int, default=KERNELS)
    with tempfile.TemporaryDirectory() as folder:
        measure(parser.parse_args().count, Path(folder))


if __name__ == "__main__":
    main()
