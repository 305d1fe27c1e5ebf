"""What explorers leave in memory: after thousands of changes, and after they are closed.

Each explorer is moved to random states, as by somebody who plays for a day, and closed. Memory is
that of the process after a collection of garbage. The first tenth of the changes, but at least 250,
fills caches, loads libraries and compiles TensorFlow's graphs, which takes about 50 MiB; what grows
after it is a leak. Then explorers are made, shown and closed in a row.

    python -m benchmarks.soak                     # 2 000 changes of each explorer
    python -m benchmarks.soak 20000 FlowExplorer  # as many as in a day, of one explorer
"""

import gc
import random
import sys
import threading
from typing import Any

import ipywidgets as widgets
import psutil

from etgp_viz import explorers
from etgp_viz.explorers import fields

CHANGES, MADE, WARM_UP = 2000, 50, 250
MIB = 2**20


def memory() -> float:
    """Resident memory of this process in MiB, without garbage."""
    gc.collect()
    return psutil.Process().memory_info().rss / MIB


def left_open() -> tuple[int, int, int]:
    """Open widgets, threads and file descriptors."""
    known = getattr(widgets.widget, "_instances", None)
    count = len(widgets.Widget.widgets if known is None else known)
    return count, threading.active_count(), psutil.Process().num_fds()


def change(explorer: Any, rng: random.Random) -> None:
    """Move one control to one of its values."""
    controls = fields.controls_of(explorer.State)
    name = rng.choice([name for name in controls if controls[name].when(explorer.state)])
    values = (*controls[name].samples(), *controls[name].positions(getattr(explorer.state, name)))
    explorer.set(**{name: rng.choice(values)})


def soak(kind: type, changes: int) -> float:
    """MiB that an explorer grows by once it is warm."""
    explorer, rng = kind(), random.Random(0)
    for number in range(changes):
        if number == min(max(changes // 10, WARM_UP), changes - 1):
            before = memory()
        change(explorer, rng)
    grown = memory() - before
    explorer.close()
    return grown


def made_and_closed(kind: type, count: int) -> tuple[float, tuple[int, ...]]:
    """MiB per explorer that is made, shown and closed, and what they leave open."""
    for _ in range(3):
        kind().close()
    before, open_before = memory(), left_open()
    for _ in range(count):
        explorer = kind()
        explorer._repr_mimebundle_()
        explorer.close()
    del explorer
    each = (memory() - before) / count
    return each, tuple(b - a for a, b in zip(open_before, left_open(), strict=True))


def main(arguments: list[str]) -> None:
    """Print one line for each explorer."""
    numbers = [int(word) for word in arguments if word.isdigit()]
    changes = numbers[0] if numbers else CHANGES
    chosen = [word for word in arguments if not word.isdigit()]
    kinds = chosen or [name for name in explorers.__all__ if name.endswith("Explorer")]
    print(f"{'explorer':22} {'grows by':>10} {'closed':>12}  widgets, threads, files left open")
    for name in kinds:
        kind = getattr(explorers, name)
        grown = soak(kind, changes)
        each, left = made_and_closed(kind, max(1, min(MADE, changes // 10)))
        print(f"{name:22} {grown:6.1f} MiB {each:8.2f} MiB  {left}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
