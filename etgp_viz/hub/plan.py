"""How many students a machine holds: the plan that ``etgp-viz class init`` prints."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path

from etgp_viz.checks import fail

__all__ = ["FIGURES", "Figures", "Plan", "figures"]

#: written by ``python -m benchmarks.students --save``
FIGURES = Path(__file__).parents[1] / "reference" / "students.json"
# GiB left for the system, the hub and its proxy.
RESERVE = 1.5
# GiB; a student who trains the models of lessons 05 to 08 needs more than one who moves sliders.
SMALLEST_LIMIT = 1.5


@dataclass(frozen=True)
class Figures:
    """Measured memory in MiB, each shared page counted in parts (PSS), and seconds to readiness.

    Attributes
    ----------
    server : a student's Jupyter server
    warm_process : the process from which warm kernels are forked
    ordinary_kernel, warm_kernel : one more kernel with an explorer, its client included
    ordinary_seconds, warm_seconds : from the request for a kernel until an explorer is shown
    """

    server: float
    warm_process: float
    ordinary_kernel: float
    warm_kernel: float
    ordinary_seconds: float
    warm_seconds: float


def figures() -> Figures:
    """The figures that come with the package."""
    return Figures(**json.loads(FIGURES.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Plan:
    """Memory for a class.

    Parameters
    ----------
    students : how many work at the same time
    memory : GiB of the machine
    measured : what a student needs; the figures that come with the package if left out
    """

    students: int
    memory: float
    measured: Figures = field(default_factory=lambda: figures())

    def __post_init__(self) -> None:
        if self.students < 1:
            fail("students", "at least 1", str(self.students))
        if not math.isfinite(self.memory) or self.memory <= RESERVE:
            fail("memory", f"more than {RESERVE} GiB", str(self.memory))

    @property
    def limit(self) -> float:
        """GiB that one student may use, in steps of a quarter.

        Students rarely all need much at once, so twice an equal share is safe.
        """
        share = 2 * (self.memory - RESERVE) / self.students
        return min(max(SMALLEST_LIMIT, math.floor(4 * share) / 4), self.memory - RESERVE)

    def holds(self, warm: bool) -> int:
        """How many students with one explorer each fit, with warm kernels or ordinary ones."""
        measured = self.measured
        kernel = measured.warm_kernel if warm else measured.ordinary_kernel
        room = 1024 * (self.memory - RESERVE) - (measured.warm_process if warm else 0)
        return max(0, int(room / (measured.server + kernel)))

    def lines(self) -> list[str]:
        """The plan in sentences."""
        measured = self.measured
        warm, ordinary = self.holds(warm=True), self.holds(warm=False)
        verdict = (
            f"{self.students} students fit."
            if self.students <= warm
            else f"{self.students} students do not fit: plan for {warm}, or use a larger machine."
        )
        return [
            f"Each student needs {measured.server:.0f} MiB for the Jupyter server, plus "
            f"{measured.warm_kernel:.0f} MiB (warm) or {measured.ordinary_kernel:.0f} MiB "
            "(ordinary) for a kernel with an explorer.",
            f"{self.memory:g} GiB, with {RESERVE:g} GiB kept for the system, is enough for {warm} "
            f"students with warm kernels, or {ordinary} with ordinary ones.",
            f"{verdict} Each student may use up to {self.limit:g} GiB.",
        ]
