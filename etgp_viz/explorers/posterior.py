"""GP regression by clicking observations: the band that pinches, kernels, noise and evidence."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from etgp_viz.explorers import tours
from etgp_viz.explorers.base import Explorer, Preset
from etgp_viz.explorers.fields import Choice, Number, Switch, Whole, controlled
from etgp_viz.explorers.posterior_controls import MAX_OBSERVATIONS, Observations, Turn
from etgp_viz.figures import evidence, functions, kernel_slice
from etgp_viz.records import posterior

# Observations lie on the grid, so that the band is drawn where it is narrowest.
PLACE = Number("x", -4.0, 4.0, 0.025)
HEIGHT = Number("y", -6.0, 6.0, 0.01)
X = np.round(np.linspace(-4.0, 4.0, 321), 3)
DRAWS = 6
MARKED = 1.0  # the x′ of the picture of the kernel
RANGE = 0.1, 5.0  # of lengthscales and variances
SCAN = np.geomspace(*RANGE, 61)

COMBINATIONS = {"alone": "one kernel", "+": "sum of two kernels", "×": "product of two kernels"}
SHOWN = {
    "posterior": "posterior, prior dotted",
    "both": "prior and posterior",
    "prior": "prior alone",
}


def _has_second(state: Any) -> bool:
    return state.combine != "alone"


def _kernel_field(default: Any, control: Any, needs: str = "", second: bool = False) -> Any:
    """A field of the first or the second kernel, hidden where its kernel does not use it.

    `needs` is "lengthscale" (all but linear), "period" (periodic), "sum" or "".
    """

    def is_used(state: Any) -> bool:
        name = state.kernel2 if second else state.kernel
        return (not second or _has_second(state)) and {
            "": True,
            "lengthscale": name != "linear",
            "period": name == "periodic",
            "sum": state.combine == "+",
        }[needs]

    label = control.label + ("₂" if second else "")
    return controlled(default, replace(control, label=label, group="Kernel", when=is_used))


_LENGTHSCALE = Number("lengthscale ℓ", *RANGE, log=True, effect="smoother functions")
_VARIANCE = Number("variance σ²", *RANGE, log=True, effect="functions that vary more")
_PERIOD = Number("period", 0.5, 6.0, effect="the pattern repeats less often")


@dataclass(frozen=True)
class PosteriorState:
    """The values of the controls; `observations` has x and y of one after another."""

    observations: tuple[float, ...] = controlled(
        (-3.3, -0.9, -2.2, 0.3, -1.2, 1.2, -0.4, 0.6, 0.6, -0.7),
        Observations("observations", PLACE, HEIGHT, "functions", group="Data"),
    )
    noise: float = controlled(
        0.1, Number("noise sd σₙ", 0.0, 1.0, 0.01, group="Data", effect="observations count less")
    )
    kernel: str = _kernel_field("rbf", Choice("kernel", posterior.KERNELS))
    lengthscale: float = _kernel_field(1.0, _LENGTHSCALE, "lengthscale")
    variance: float = _kernel_field(1.0, _VARIANCE)
    period: float = _kernel_field(2.0, _PERIOD, "period")
    combine: str = controlled("alone", Choice("combine", COMBINATIONS, group="Kernel"))
    kernel2: str = _kernel_field("periodic", Choice("kernel k", posterior.KERNELS), second=True)
    lengthscale2: float = _kernel_field(1.0, _LENGTHSCALE, "lengthscale", second=True)
    variance2: float = _kernel_field(1.0, _VARIANCE, "sum", second=True)
    period2: float = _kernel_field(2.0, _PERIOD, "period", second=True)
    turn: float = controlled(
        0.0, Turn("turn", 0.0, 360.0, 3.0, group="Draws", effect="the draws wander on, by degrees")
    )
    draws: int = controlled(4, Whole("draws", 0, DRAWS, group="Draws", effect="more draws"))
    seed: int = controlled(0, Whole("draw number", 0, 9999, typed=True, group="Draws"))
    shows: str = controlled("posterior", Choice("show", SHOWN))
    shows_new: bool = controlled(False, Switch("band of a new observation, dashed"))


class PosteriorExplorer(Explorer):
    """See what observations say about a function: Gaussian process regression by clicking.

    The figures show the posterior of f₀ with its band (mean ± 2 standard deviations) and draws over
    the prior, the log marginal likelihood over the lengthscale with its maximum, and the kernel. A
    click adds an observation, a drag moves it and a double click removes it; the table does the
    same by keyboard. The noise behind the draws stays the same whatever you move, and the play
    button turns it smoothly. It needs no TensorFlow.

    Parameters
    ----------
    values : where the controls start, by the names of the fields of `PosteriorState`

    Examples
    --------
    >>> explorer = PosteriorExplorer(observations=(0.0, 1.5), noise=0.0)
    >>> print(explorer.summary.partition(". ")[0])
    1 observation narrows the band from ± 2.00 to ± 0.00 at x = 0.00
    >>> explorer.on_click("functions", "xy", 2.0, -1.0)
    >>> explorer.state.observations
    (0.0, 1.5, 2.0, -1.0)
    """

    State = PosteriorState
    handout = ("observations",)
    pictures: ClassVar = {"functions": functions, "evidence": evidence, "kernel": kernel_slice}
    full_width = ("functions",)
    views: ClassVar = {
        "Functions": ("functions",),
        "Evidence": ("functions functions evidence",),
        "Kernel": ("functions functions kernel",),
    }
    wide = ("functions functions evidence", "functions functions kernel")
    main = ("lengthscale", "lengthscale2", "noise")
    presets: ClassVar = {
        "Guided tour": tours.POSTERIOR,
        "Nothing seen yet": Preset(
            "Only the prior: any function of this smoothness is possible. Click somewhere, and the "
            "functions that miss your observation are gone.",
            {"observations": ()},
        ),
        "Two points, and the band pinches": Preset(
            "At an observation without noise nothing is left to doubt, so the band has no width. "
            "Between the two it opens again, and far away it is that of the prior (dotted).",
            {"observations": (-1.5, 1.0, 1.0, -0.5), "noise": 0.0},
        ),
        "Noise": Preset(
            "Noisy observations pull at the mean without forcing it through them, and several "
            "together narrow the band more than one. It is the band of the function: a new "
            "observation would scatter around it (dashed).",
            {"observations": (-2.6, -0.9, -2.3, -0.2, -2.0, -1.1, -0.4, 0.4, -0.1, 1.2, 0.1, 0.7,
                              0.4, 1.3, 1.8, 0.2), "noise": 0.4, "shows_new": True},
        ),
        "A rhythm goes on": Preset(
            "A periodic kernel assumes that everything repeats after one period: observations on "
            "the left forecast what comes on the right. Change the kernel to RBF and the forecast "
            "is gone.",
            {"observations": (-4.0, 0.0, -3.5, 1.0, -3.0, 0.1, -2.5, -0.9, -2.2, -0.6),
             "kernel": "periodic"},
        ),
        "A trend and wiggles": Preset(
            "Sums of kernels are sums of independent functions: a straight line plus something "
            "smooth. Beyond the data the wiggles are forgotten and the line goes on.",
            {"observations": (-3.6, -3.1, -3.1, -2.5, -2.6, -1.4, -2.1, -0.8, -1.6, -1.0, -1.1,
                              -1.2, -0.6, -1.0, -0.1, -0.2, 0.4, 0.7, 0.9, 1.2),
             "kernel": "linear", "variance": 0.4, "combine": "+", "kernel2": "rbf",
             "lengthscale2": 0.8, "variance2": 0.5},
        ),
        "A rhythm that changes": Preset(
            "A product of kernels asks for both at once: the same phase, and not too far apart. "
            "Each swing resembles the last one, but the shape may drift, so the forecast fades.",
            {"observations": (-4.0, 0.0, -3.6, 1.1, -3.2, 0.7, -2.8, -0.7, -2.4, -1.4, -2.0, 0.1,
                              -1.6, 1.4, -1.2, 1.1, -0.8, -1.1, -0.4, -1.9),
             "lengthscale": 2.5, "combine": "×"},
        ),
        "Too short a lengthscale": Preset(
            "Every observation is explained by a bump of its own, and nothing has been learnt "
            "about the places between them. The log marginal likelihood notices: press “maximise "
            "the evidence”.",
            {"observations": (-3.4, -0.3, -2.7, -1.0, -2.0, -0.8, -1.3, 0.1, -0.6, 0.9, 0.1, 1.0,
                              0.8, 0.3, 1.5, -0.6, 2.2, -1.1), "lengthscale": 0.15},
            "Evidence",
        ),
    }  # fmt: skip

    def actions(self) -> Iterable[tuple[str, str, Any]]:
        return [
            ("maximise the evidence",
             "Move to the maximum (★) of the log marginal likelihood", self.maximise_evidence),
            ("observe where least is known",
             "Treat draw 1 as the truth and observe it where the band is widest",
             self.observe_draw),
        ]  # fmt: skip

    def maximise_evidence(self) -> None:
        """Move the parameter of the evidence picture to the maximum.

        Examples
        --------
        >>> explorer = PosteriorExplorer(observations=(-1.0, 1.0, -0.5, 0.9, 1.0, -1.0))
        >>> explorer.maximise_evidence()
        >>> round(explorer.state.lengthscale, 2)
        0.98
        """
        field, _, _ = _scanned(self.state)
        self.set(**{field: float(np.clip(self._records["evidence"].best, *RANGE))})

    def observe_draw(self) -> None:
        """Add the value of the first draw where the band is widest as an observation.

        Examples
        --------
        >>> explorer = PosteriorExplorer(observations=())
        >>> explorer.observe_draw()
        >>> len(explorer.state.observations)
        2
        """
        record = self._records["functions"]
        place = int(np.argmax(record.deviation))
        self._add(record.x[place], record.draws[0, place])

    def on_click(self, figure: str, panel: str, x: float, y: float) -> None:
        if figure == "functions":
            self._add(x, y)

    def _add(self, x: float, y: float) -> None:
        observations = self.state.observations
        if len(observations) >= 2 * MAX_OBSERVATIONS:
            self._page.warn(f"There is room for {MAX_OBSERVATIONS} observations: remove one first.")
            return
        inside = (float(np.clip(v, c.low, c.high)) for v, c in ((x, PLACE), (y, HEIGHT)))
        self.set(observations=(*observations, *inside))

    # What every explorer defines ------------------------------------------------------------------

    def compute_records(self, state: PosteriorState) -> Iterator[tuple[str, Any]]:
        kernel = build_kernel(state)
        process = _process(kernel, state.observations, state.noise)
        yield "functions", _functions(process, state.seed, state.turn,
                                      state.shows, state.draws, state.shows_new)  # fmt: skip
        _, name, second = _scanned(state)
        yield "evidence", _evidence(process, name, second)
        yield "kernel", partial(_slice, kernel)

    def title(self, state: PosteriorState) -> str:
        kernel = build_kernel(state).title
        count = len(state.observations) // 2
        if state.shows == "prior" or not count:
            return f"Before any observation ({kernel} kernel)"
        say = "say" if count > 1 else "says"
        return f"What {_count(count)} {say} ({kernel} kernel)"

    def describe(self, state: PosteriorState) -> str:
        record, search = self._records["functions"], self._records["evidence"]
        if not len(record.Y):
            width = _half_width(record.prior_deviation, MARKED)
            return (
                "No observations yet: the posterior is the prior, whose band (mean ± 2 sd) is "
                f"0 ± {width} at x = {MARKED:g}. Click into the picture to add an observation."
            )
        return f"{_narrowing(record)}{_contradiction(record)} {_evidence_in_words(search)}"

    def code(self, state: PosteriorState) -> str:
        observations = np.array(state.observations).reshape(-1, 2)
        _, name, second = _scanned(state)
        view = f"shows={state.shows!r}, shown_draws={state.draws}, shows_new={state.shows_new}"
        return "\n".join(
            [
                "import numpy as np",
                "from etgp_viz.figures import evidence, functions, kernel_slice",
                "from etgp_viz.records import posterior",
                "",
                f"kernel = {_kernel_code(build_kernel(state))}",
                f"X = np.array({observations[:, 0].tolist()})",
                f"Y = np.array({observations[:, 1].tolist()})",
                f"process = posterior.condition(kernel, X, Y, noise={state.noise})",
                "print(process.log_marginal_likelihood)",
                "",
                f"x = np.round(np.linspace({X[0]}, {X[-1]}, {len(X)}), 3)",
                f"noise = posterior.turned_noise({state.seed}, {state.turn}, {DRAWS}, "
                "len(x), len(X))",
                f"values = np.geomspace({RANGE[0]}, {RANGE[1]}, {len(SCAN)})",
                "records = {",
                '    "functions": posterior.functions(',
                f"        process, x, noise, {view}",
                "    ),",
                f'    "evidence": posterior.evidence(process, {name!r}, values, second={second}),',
                f'    "kernel": posterior.covariance_with(kernel, x, at={MARKED}),',
                "}",
                'functions.make(records["functions"]).show()',
                'evidence.make(records["evidence"]).show()',
                'kernel_slice.make(records["kernel"]).show()',
            ]
        )

    def print_figure(self) -> Any:
        from etgp_viz.figures.print import posterior as print_posterior  # matplotlib, when needed

        return print_posterior.make(**self._records)


def build_kernel(state: PosteriorState) -> posterior.AnyKernel:
    """The kernel of a state; in a product the first kernel has the variance of both."""
    first = posterior.Kernel(state.kernel, state.lengthscale, state.variance, state.period)
    if not _has_second(state):
        return first
    variance = state.variance2 if state.combine == "+" else 1.0
    second = posterior.Kernel(state.kernel2, state.lengthscale2, variance, state.period2)
    return posterior.Combination(first, state.combine, second)


def _scanned(state: PosteriorState) -> tuple[str, str, bool]:
    """The field of the evidence picture, its parameter, and whether it is the second kernel's.

    It is the first lengthscale that the kernel has, or else the variance.
    """
    if state.kernel != "linear":
        return "lengthscale", "lengthscale", False
    if _has_second(state) and state.kernel2 != "linear":
        return "lengthscale2", "lengthscale", True
    return "variance", "variance", False


# Each stage is cached, and computed again only when something that it depends on has changed.


@lru_cache(maxsize=2)
def _process(
    kernel: posterior.AnyKernel, observations: tuple[float, ...], noise: float
) -> posterior.Conditioned:
    places = np.array(observations, dtype=float).reshape(-1, 2)
    return posterior.condition(kernel, places[:, 0], places[:, 1], noise)


@lru_cache(maxsize=2)
def _functions(
    process: posterior.Conditioned, seed: int, turn: float, shows: str, draws: int, new: bool
) -> posterior.Functions:
    noise = posterior.turned_noise(seed, turn, DRAWS, len(X), len(process.X))
    return posterior.functions(process, X, noise, shows, draws, new)


@lru_cache(maxsize=2)
def _evidence(process: posterior.Conditioned, name: str, second: bool) -> posterior.Evidence:
    return posterior.evidence(process, name, SCAN, second)


@lru_cache(maxsize=2)
def _slice(kernel: posterior.AnyKernel) -> posterior.Slice:
    return posterior.covariance_with(kernel, X, MARKED)


def _count(number: int) -> str:
    return "1 observation" if number == 1 else f"{number} observations"


def _half_width(deviation: np.ndarray, at: float) -> str:
    return f"{2.0 * deviation[np.argmin(np.abs(X - at))]:.2f}"


def _signed(number: float, digits: int = 2) -> str:
    return f"{number:.{digits}f}".replace("-", "−")


def _narrowing(record: posterior.Functions) -> str:
    """A sentence about where the band is narrow and where it is wide."""
    prior = np.maximum(
        record.prior_deviation, 1e-9
    )  # a line through the origin has no spread there
    share = np.where(record.prior_deviation > 1e-9, record.deviation / prior, 1.0)
    narrow, wide = X[np.argmin(share)], X[np.argmax(record.deviation)]
    number = len(record.Y)
    before, after = (
        _half_width(deviation, narrow) for deviation in (record.prior_deviation, record.deviation)
    )
    return (
        f"{_count(number)} {'narrow' if number > 1 else 'narrows'} the band from ± {before} to "
        f"± {after} at x = {_signed(narrow)}. It is widest at x = {_signed(wide)}: "
        f"± {_half_width(record.deviation, wide)}."
    )


def _contradiction(record: posterior.Functions) -> str:
    """A sentence about observations at one input that no function without noise passes."""
    order = np.lexsort((record.Y, record.X))
    x, y = record.X[order], record.Y[order]
    apart = (np.diff(x) == 0.0) & (np.diff(y) > 8.0 * record.noise)
    if not np.any(apart):
        return ""
    where = _signed(x[:-1][apart][0])
    return (
        f" At x = {where} two observations differ by far more than the noise sd of "
        f"{record.noise:.3f} allows (it is never less than {posterior.NOISE_FLOOR:g}): "
        "the mean goes between them. More noise would explain both."
    )


def _evidence_in_words(record: posterior.Evidence) -> str:
    now, best = record.at_log_likelihood, record.best_log_likelihood
    digits = 2 if abs(now) < 1000.0 else 0
    start = f"The log marginal likelihood is {_signed(now, digits)}"
    which = "second " if record.second else ""
    if best - now < 0.005:
        return f"{start}, and no other {which}{record.name} gives more."
    end = " (an end of the slider)" if record.best in RANGE else ""
    most = f"a {which}{record.name} of {record.best:.2f}{end} would give the most, {_signed(best)}"
    return f"{start}; {most}."


def _kernel_code(kernel: posterior.AnyKernel) -> str:
    """The Python expression that makes a kernel."""
    if isinstance(kernel, posterior.Combination):
        sign = {"+": "+", "×": "*"}[kernel.sign]
        return f"{_kernel_code(kernel.left)} {sign} {_kernel_code(kernel.right)}"
    return (
        f"posterior.Kernel({kernel.name!r}, {kernel.lengthscale}, {kernel.variance}, "
        f"{kernel.period})"
    )
