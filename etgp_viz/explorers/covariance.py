"""Proposition 1: covariances of the classes by formula, against Monte Carlo, and their limits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from etgp_viz.core import flows
from etgp_viz.explorers import covariance_stages as stages
from etgp_viz.explorers import latent_fields
from etgp_viz.explorers.base import Explorer, Picture, Preset
from etgp_viz.explorers.covariance_stages import (
    CLASSES,
    LATENT_NAME,
    MAX_TERMS,
    THIN,
    Shape,
    Source,
    X,
)
from etgp_viz.explorers.fields import Choice, Number, Profile, Whole, shown
from etgp_viz.figures import (
    comparison,
    convergence,
    equal_inputs,
    latent_matrix,
    orders,
    spectrum,
    style,
    together,
    variances,
)
from etgp_viz.figures.print import covariance as print_covariance
from etgp_viz.records import covariance_check

FAMILIES = {
    "linear": "LINEAR: a·f + b",
    "sal": "SAL, then LINEAR",
    "tanh": "TANH, then LINEAR",
}
DRAWS = {S: f"{S:,}".replace(",", " ") for S in (100, 200, 500, 1000, 2000, 5000, 10000, 20000)}
VIEWS = {"pair": "two classes, c and d", "joint": "all classes in blocks"}
NAMES = {c + 1: f"class {c + 1}: {style.process(c)}" for c in range(CLASSES)}


def _of(*families: str) -> Any:
    return lambda state: state.family in families


def _is_pair(state: Any) -> bool:
    return state.view == "pair"


def _profile(c: int, words: str, name: str, default: tuple[float, ...]) -> Any:
    """A profile over x for scale or shift of a class, with the range that the flow itself names."""
    (param,) = (param for param in flows.Linear().params if param.name == name)
    symbol = f"{words} {name}{style.superscript(c)}"
    group = f"Class {c}: {style.process(c - 1)}"
    return shown(default, Profile(symbol, param.low, param.high, right=param.effect, group=group))


def _bend(c: int, family: str, words: str, default: float, right: str, reach: float = 2.0) -> Any:
    group = f"Class {c}: {style.process(c - 1)}"
    control = Number(words, -reach, reach, group=group, right=right, when=_of(family))
    return shown(default, control)


def _skew(c: int, default: float) -> Any:
    return _bend(c, "sal", f"skew s{style.superscript(c)}", default, "skews to the left")


def _place(c: int, default: float) -> Any:
    return _bend(c, "tanh", f"place p{style.superscript(c)}", default, "moves the step to the left")


@dataclass(frozen=True)
class CovarianceState:
    """What the controls say. Scales and shifts are tuples of values at five knots over x."""

    kernel: str = latent_fields.kernel()
    lengthscale: float = latent_fields.lengthscale(0.2)
    variance: float = latent_fields.variance(0.25, 4.0)
    period: float = latent_fields.period()
    mean: float = shown(
        0.0, Number("mean µ", -2.0, 2.0, group="Latent", right="f₀ lies higher at every x")
    )
    draws: int = shown(2000, Choice("draws S", DRAWS, group="Monte Carlo"))
    seed: int = latent_fields.seed("Monte Carlo")
    family: str = shown("linear", Choice("flow G", FAMILIES, group="Flows"))
    amount: float = shown(
        1.0,
        Number("non-linearity t", 0.0, 1.0, 0.02, group="Flows", when=_of("sal", "tanh"),
               right="flows further from straight lines"),
    )  # fmt: skip
    tails: float = shown(
        1.0, Number("tails", 0.4, 1.8, group="Flows", when=_of("sal"), right="heavier tails")
    )
    height: float = shown(
        3.0,
        Number("step: height", 0.1, 5.0, group="Flows", when=_of("tanh"), right="a higher step"),
    )
    slope: float = shown(
        2.0,
        Number("step: slope", 0.2, 2.0, group="Flows", when=_of("tanh"), right="a steeper step"),
    )
    a1: tuple[float, ...] = _profile(1, "scale", "a", (1.0,) * 5)
    b1: tuple[float, ...] = _profile(1, "shift", "b", (0.0,) * 5)
    skew1: float = _skew(1, -1.0)
    place1: float = _place(1, 1.0)
    a2: tuple[float, ...] = _profile(2, "scale", "a", (0.3, 0.6, 1.0, 1.4, 1.7))
    b2: tuple[float, ...] = _profile(2, "shift", "b", (1.0,) * 5)
    skew2: float = _skew(2, 1.0)
    place2: float = _place(2, -1.0)
    a3: tuple[float, ...] = _profile(3, "scale", "a", (-0.8,) * 5)
    b3: tuple[float, ...] = _profile(3, "shift", "b", (-1.0,) * 5)
    skew3: float = _skew(3, 0.0)
    place3: float = _place(3, 0.0)
    view: str = shown("pair", Choice("matrices of", VIEWS))
    c: int = shown(1, Choice("rows: class c", NAMES, when=_is_pair))
    d: int = shown(2, Choice("columns: class d", NAMES, when=_is_pair))
    terms: int = shown(
        MAX_TERMS,
        Whole("terms summed", 1, MAX_TERMS, when=_of("sal", "tanh"),
              right="more terms of the Hermite series"),
    )  # fmt: skip
    at: float = shown(
        0.0, Number("input x to look at", -3.0, 3.0, 0.2, right="the marked x moves right")
    )


class CovarianceExplorer(Explorer):
    """See Proposition 1 at work: scales and a kernel make every covariance between classes.

    Shape the classes, and hold the formula against Monte Carlo entry by entry. For non-linear flows
    the formula is a Hermite series, whose terms can be added one by one.
    """

    State = CovarianceState
    handout = ("amount", "a2")
    pictures: ClassVar[Mapping[str, Picture]] = {
        "latent": latent_matrix,
        "analytic": comparison.ANALYTIC,
        "estimate": comparison.ESTIMATE,
        "difference": comparison.DIFFERENCE,
        "together": together,
        "convergence": convergence,
        "spectrum": spectrum,
        "terms": orders,
        "variance": variances,
        "correlation": equal_inputs,
    }
    full_width = ("variance", "correlation")
    presets: ClassVar[Mapping[str, Preset]] = {
        "Proposition 1": Preset(
            "Class 1 is f₀ itself; class 2 is f₀ times a scale that grows with x. Each column of "
            "their covariance is a column of K times that scale. Move the scale and watch the "
            "variance grow with its square, the covariance with the scale alone.",
            {},
        ),
        "A change of sign": Preset(
            "The scale of class 2 changes its sign at x = 0. The covariance with class 1 turns "
            "over there, and the correlation jumps from −1 to 1: no value in between exists for "
            "linear flows.",
            {"a2": (-2.0, -1.0, 0.0, 1.0, 2.0), "c": 1, "d": 2},
        ),
        "Shifts do not matter": Preset(
            "Every class is shifted by a curve of its own, and f₀ has a mean. Not one covariance "
            "of linear flows notices: set shifts and mean to zero and compare.",
            {"b1": (-2.0, 1.0, 2.0, -1.0, 0.0), "b2": (3.0, -3.0, 3.0, -3.0, 3.0),
             "b3": (0.0, 1.0, 2.0, 3.0, 3.0), "mean": 1.5},
        ),
        "Three classes, one rank": Preset(
            "All classes at 16 inputs are 48 values, but they are made of 16 values of f₀: after "
            "the 16th eigenvalue there is nothing. Three independent processes would have 48.",
            {"view": "joint", "kernel": "matern32", "a2": (2.0, 1.0, 0.5, 1.0, 2.0)},
        ),
        "Bent flows": Preset(
            "Class 1 is skewed to the right, class 2 to the left. Their correlation at equal "
            "inputs falls below 1, yet the draws lie on one curve: each value still determines the "
            "other. Flows that differ in skew alone are made of two functions of f₀, so 32 of 48 "
            "eigenvalues are left. Move the non-linearity to 0 and the correlation is 1 again.",
            {"family": "sal", "tails": 1.4, "skew1": -2.0, "skew2": 2.0, "a2": (1.0,) * 5},
        ),
        "One term is not enough": Preset(
            "Steps at three places, and only the first term of the series, the one that "
            "Proposition 1 knows. With 20 000 draws the difference shows, and more draws do "
            "not close the gap. Add terms until they agree.",
            {"family": "tanh", "terms": 1, "draws": 20000, "height": 5.0, "d": 1},
        ),
        "The mean matters now": Preset(
            "The same bent flows, but f₀ has a mean of 1.5: other parts of the flows are in use, "
            "and every covariance changes. For linear flows the mean changes nothing.",
            {"family": "sal", "mean": 1.5, "tails": 1.4},
        ),
        "Heavy tails": Preset(
            "Very heavy tails and only 100 draws. Rare high values make most of the covariance, a "
            "small sample has not met them, and its own standard error does not know. Resample, "
            "then take more draws.",
            {"family": "sal", "tails": 1.8, "skew1": -2.0, "draws": 100, "d": 1},
        ),
    }  # fmt: skip

    def numbers(self, state: CovarianceState) -> Iterator[tuple[str, Any]]:
        source, shape = _source(state), _shape(state)
        num_terms = state.terms if shape.bend else MAX_TERMS
        pair = (state.c - 1, state.d - 1)
        shown_pair = pair if state.view == "pair" else None
        yield "variance", stages.variances(source, shape, num_terms, state.at)
        yield (
            "correlation",
            stages.equal_inputs(source.latent, source.mean, shape, num_terms, state.at),
        )
        compared = stages.comparison(source, shape, num_terms, shown_pair)
        yield "analytic", compared
        yield "estimate", compared
        yield "difference", compared
        yield "together", stages.together(source, shape, num_terms, pair, state.at)
        yield "convergence", stages.convergence(source, shape, num_terms, shown_pair)
        yield "spectrum", stages.spectrum(source.latent, source.mean, shape, num_terms)
        yield "terms", stages.terms(source.latent, source.mean, shape, num_terms)
        yield "latent", stages.latent_matrix(source.latent)

    def title(self, state: CovarianceState) -> str:
        kind = {"linear": "linear", "sal": "sinh-arcsinh", "tanh": "tanh"}[state.family]
        return f"Covariances of three classes with {kind} flows, by formula and by Monte Carlo"

    def words(self, state: CovarianceState) -> str:
        record, rank = self._records["difference"], self._records["spectrum"]
        left_out = float(np.max(self._records["terms"].left_out))
        if state.family == "linear":
            rest = (
                "Linear flows leave a correlation of exactly ±1 between classes at one input, and "
                f"the {len(rank.joint)} values of all classes at {rank.num_inputs} inputs have a "
                f"joint covariance of rank {rank.rank}."
            )
        else:
            rest = _about_pair(self._records["together"])
        return f"{_verdict(record, left_out)} {rest}"

    def code(self, state: CovarianceState) -> str:
        shape, view = _shape(state), state.view == "joint"
        return "\n".join(
            [
                "import numpy as np",
                "from etgp_viz import covariance, flows, prior",
                "from etgp_viz.records import covariance_check, flow as flow_records",
                "from etgp_viz.figures import comparison, convergence, equal_inputs, latent_matrix",
                "from etgp_viz.figures import orders, spectrum, together, variances",
                "",
                f"x = np.linspace(-3, 3, {len(X)})",
                latent_fields.code(state),
                "K = prior.covariance_matrix(kernel, x)",
                f"mean, S = np.full(len(x), {state.mean!r}), {state.draws}",
                "",
                "# Scales and shifts of the classes at five knots, and between them, [C, N].",
                f"a = np.array({[list(knots) for knots in shape.scale]})",
                f"b = np.array({[list(knots) for knots in shape.shift]})",
                "scale, shift = (prior.profile(knots.T, (x + 3) / 6).T for knots in (a, b))",
                *shape.code(),
                "",
                "# The C processes: by formula, and as S draws F [C, S, N] of the same f₀.",
                "# With LINEAR flows series.pair(c, d) is covariance.pair_linear(K, a_c, a_d).",
                f"full = covariance.hermite_series(K, flow, params, mean=mean, order={MAX_TERMS})",
                f"series = full.up_to({state.terms if shape.bend else MAX_TERMS})",
                f"f0 = mean + prior.draw(K, prior.noise({state.seed}, S, len(x)))",
                "F = flow.forward(f0, params[:, None]).numpy()",
                "",
                f"c, d, at = {state.c - 1}, {state.d - 1}, {state.at!r}",
                f"thin = {THIN}  # all classes at once: every second input",
                (
                    "shown = covariance_check.compare(x[::thin], series.every(thin), F[:, :, ::thin])"
                    if view
                    else "shown = covariance_check.compare(x, series, F, (c, d))"
                ),
                "records = {",
                '    "variance": covariance_check.variances(x, K, series, F, at),',
                '    "correlation": covariance_check.equal_inputs(x, series, at),',
                '    "analytic": shown, "estimate": shown, "difference": shown,',
                '    "together": covariance_check.together(x, series, F, c, d, at),',
                (
                    '    "convergence": covariance_check.convergence('
                    "series.every(thin), F[:, :, ::thin], shown),"
                    if view
                    else '    "convergence": covariance_check.convergence(series, F, shown),'
                ),
                '    "spectrum": covariance_check.spectrum(series.every(thin)),',
                '    "terms": covariance_check.terms(full, series.order),',
                f'    "latent": flow_records.Matrix(x, K, {LATENT_NAME!r}),',
                "}",
                "pictures = {",
                '    "latent": latent_matrix, "analytic": comparison.ANALYTIC,',
                '    "estimate": comparison.ESTIMATE, "difference": comparison.DIFFERENCE,',
                '    "variance": variances, "correlation": equal_inputs, "together": together,',
                '    "convergence": convergence, "spectrum": spectrum, "terms": orders,',
                "}",
                "for name, picture in pictures.items():",
                "    picture.make(records[name]).show()",
            ]
        )

    def print_figure(self) -> Any:
        return print_covariance.make(**self._records)

    def clicked(self, figure: str, panel: str, x: float, y: float) -> None:
        if figure in ("variance", "correlation"):
            self.set(at=round(float(X[np.argmin(np.abs(X - x))]), 1))


def _source(state: CovarianceState) -> Source:
    latent = latent_fields.arguments(state)
    return Source(latent, state.mean, state.seed, state.draws)


def _shape(state: CovarianceState) -> Shape:
    scale, shift = (state.a1, state.a2, state.a3), (state.b1, state.b2, state.b3)
    if state.family == "linear":
        return Shape("linear", (), 0.0, scale, shift)
    skews = (state.skew1, state.skew2, state.skew3)
    places = (state.place1, state.place2, state.place3)
    bend = {
        "sal": tuple((skew, state.tails, 1.0, 0.0) for skew in skews),
        "tanh": tuple((state.height, state.slope, place) for place in places),
    }[state.family]
    return Shape(state.family, bend, state.amount, scale, shift)


def _verdict(record: covariance_check.Comparison, left_out: float) -> str:
    """Whether formula and Monte Carlo agree, and what chance alone would do, in words."""
    if record.agrees:
        end = "nothing here speaks against the formula."
    elif left_out > 1e-3:
        end = "the terms that are left out are missed."
    else:
        end = "a rare draw, or too few draws for their own standard errors; resample, or take more."
    return (
        f"Formula and Monte Carlo with {record.num_draws} draws agree within "
        f"{covariance_check.WITHIN:.0f} standard errors at {record.share:.1%} of the entries. Chance "
        f"alone gives {covariance_check.EXPECTED_SHARE:.1%} on average and, as neighbours move together, "
        f"seldom less than {record.least_by_chance:.1%}: {end}"
    )


def _about_pair(record: covariance_check.Together) -> str:
    """What the correlation of two classes says, and what it does not."""
    if record.c == record.d or not np.isfinite(record.correlation):
        return "Pick two classes that vary to see how their correlation falls below 1."
    names = f"{style.process(record.c)} and {style.process(record.d)}"
    return (
        f"At x = {record.at:.1f} {names} have a correlation of {record.correlation:.2f}, yet each "
        "determines the other."
    )
