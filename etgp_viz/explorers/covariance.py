"""Proposition 1: covariances between classes by formula and by Monte Carlo, and its limits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from etgp_viz.core import flows
from etgp_viz.explorers import controls, tours
from etgp_viz.explorers import covariance_session as session
from etgp_viz.explorers.base import Explorer, Preset
from etgp_viz.explorers.covariance_session import MAX_TERMS, Shape, Source, X
from etgp_viz.explorers.fields import Choice, Number, Whole, controlled
from etgp_viz.figures import covariance as figures
from etgp_viz.figures import plotting, style
from etgp_viz.figures.plotting import Picture
from etgp_viz.figures.print import covariance as print_covariance
from etgp_viz.records import covariance_check

FAMILIES = {"linear": "LINEAR: a·f + b", "sal": "SAL, then LINEAR", "tanh": "TANH, then LINEAR"}
DRAWS = {S: f"{S:,}".replace(",", " ") for S in (100, 200, 500, 1000, 2000, 5000, 10000, 20000)}
VIEWS = {"pair": "two classes, c and d", "joint": "all classes in blocks"}
NAMES = {c + 1: f"class {c + 1}: {style.process(c)}" for c in range(session.CLASSES)}


def _is(*families: str) -> Any:
    return lambda state: state.family in families


def _is_mixed(state: Any) -> bool:
    return state.latents > 1


def _is_pair(state: Any) -> bool:
    return state.view == "pair"


def _profile(c: int, quantity: str, symbol: str, default: tuple[float, ...]) -> Any:
    """Scale or shift of class c over x, with the range and the effect that the flow states."""
    (param,) = (param for param in flows.Linear().params if param.name == symbol)
    label = f"{quantity} {symbol}{style.superscript(c)}"
    control = controls.Profile(label, param.low, param.high, effect=param.effect, group=_group(c))
    return controlled(default, control)


def _skew(c: int, default: float) -> Any:
    options = {"effect": "skews to the left", "group": _group(c), "when": _is("sal")}
    return controlled(default, Number(f"skew s{style.superscript(c)}", -2.0, 2.0, **options))


def _place(c: int, default: float) -> Any:
    options = {"effect": "moves the step to the left", "group": _group(c), "when": _is("tanh")}
    return controlled(default, Number(f"place p{style.superscript(c)}", -2.0, 2.0, **options))


def _group(c: int) -> str:
    return f"Class {c}: {style.process(c - 1)}"


@dataclass(frozen=True)
class CovarianceState:
    """The values of the controls; scales and shifts are tuples of values at five knots over x."""

    kernel: str = controls.latent("kernel")
    lengthscale: float = controls.latent("lengthscale", low=0.2)
    variance: float = controls.latent("variance", low=0.25, high=4.0)
    period: float = controls.latent("period")
    mean: float = controlled(
        0.0, Number("mean µ", -2.0, 2.0, group="Latent", effect="f₀ is higher at every x")
    )
    latents: int = controlled(1, Whole(
        "number of latents", 1, session.CLASSES, group="Latent",
        effect="another latent, of which every class has its own share",
    ))  # fmt: skip
    mixing: float = controlled(0.5, Number(
        "mixing", 0.0, 1.0, group="Latent", when=_is_mixed,
        effect="more of the other latents in every class; at 0 there is f₀ alone",
    ))  # fmt: skip
    draws: int = controlled(2000, Choice("draws S", DRAWS, group="Monte Carlo"))
    seed: int = controls.latent("seed", group="Monte Carlo")
    family: str = controlled("linear", Choice("flow G", FAMILIES, group="Flows"))
    amount: float = controlled(1.0, Number(
        "non-linearity t", 0.0, 1.0, 0.02, group="Flows", when=_is("sal", "tanh"),
        effect="flows that are further from straight lines",
    ))  # fmt: skip
    tails: float = controlled(
        1.0, Number("tails", 0.4, 1.8, group="Flows", when=_is("sal"), effect="heavier tails")
    )
    height: float = controlled(3.0, Number(
        "step: height", 0.1, 5.0, group="Flows", when=_is("tanh"), effect="a higher step"
    ))  # fmt: skip
    slope: float = controlled(2.0, Number(
        "step: slope", 0.2, 2.0, group="Flows", when=_is("tanh"), effect="a steeper step"
    ))  # fmt: skip
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
    view: str = controlled("pair", Choice("matrices of", VIEWS))
    c: int = controlled(1, Choice("rows: class c", NAMES, when=_is_pair))
    d: int = controlled(2, Choice("columns: class d", NAMES, when=_is_pair))
    terms: int = controlled(MAX_TERMS, Whole(
        "terms summed", 1, MAX_TERMS, when=_is("sal", "tanh"),
        effect="more terms of the Hermite series",
    ))  # fmt: skip
    at: float = controlled(
        0.0, Number("input x to look at", -3.0, 3.0, 0.2, effect="the marked x moves right")
    )


class CovarianceExplorer(Explorer):
    """See Proposition 1 at work: the kernel and the scales give every covariance between classes.

    Shape three classes and compare the formula with Monte Carlo, entry by entry. The figures show
    variances and correlations over x, the covariance matrix by formula, by Monte Carlo and their
    difference in standard errors, joint draws of two classes, the error over the number of draws,
    and the eigenvalues of the joint covariance. For non-linear flows the formula is a Hermite
    series, whose terms can be added one by one.

    Parameters
    ----------
    values : where the controls start, by the names of the fields of `CovarianceState`

    Examples
    --------
    >>> explorer = CovarianceExplorer(view="joint")
    >>> print(explorer.summary.rpartition(", and ")[2])
    the 48 values of all classes at 16 inputs have a joint covariance of rank 16.
    """

    State = CovarianceState
    handout = ("amount", "a2")
    pictures: ClassVar[Mapping[str, Picture]] = {
        "latent": figures.latent_matrix,
        "analytic": figures.analytic,
        "estimate": figures.estimate,
        "difference": figures.difference,
        "together": figures.two_classes,
        "convergence": figures.convergence,
        "spectrum": figures.spectrum,
        "terms": figures.series_terms,
        "variance": figures.variances,
        "correlation": figures.equal_inputs,
    }
    full_width = ("variance", "correlation")
    views: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Formula and Monte Carlo": ("analytic estimate",),
        "Difference": ("difference convergence",),
        "From K": ("latent analytic",),
        "Variance and correlation": ("variance correlation",),
        "Two classes at one x": ("together convergence",),
        "Rank and terms": ("spectrum terms",),
    }
    wide = (
        "variance variance correlation correlation",
        "latent analytic estimate difference",
        "together convergence spectrum terms",
    )
    same_colours = (("latent", "analytic", "estimate"),)
    folded = ("Monte Carlo", "Class 3: f³")
    main = ("amount", "a2", "a1", "b2")
    presets: ClassVar[Mapping[str, Preset]] = {
        "Guided tour": tours.COVARIANCE,
        "Proposition 1": Preset(
            "Class 1 is f₀ itself; class 2 is f₀ times a scale that grows with x. Each column of "
            "their covariance is a column of K times that scale. Move the scale: the variance "
            "grows with its square, the covariance with the scale itself.",
            {},
        ),
        "A change of sign": Preset(
            "The scale of class 2 changes sign at x = 0. The covariance with class 1 changes sign "
            "there too, and the correlation jumps from −1 to 1: linear flows allow no value in "
            "between. At x = 0 itself class 2 does not vary, so it has no correlation at all.",
            {"a2": (-2.0, -1.0, 0.0, 1.0, 2.0), "c": 1, "d": 2},
            "Variance and correlation",
        ),
        "Shifts do not matter": Preset(
            "Every class is shifted by a curve of its own, and f₀ has a mean. With linear flows "
            "neither changes any covariance: set shifts and mean to zero and compare.",
            {"b1": (-2.0, 1.0, 2.0, -1.0, 0.0), "b2": (3.0, -3.0, 3.0, -3.0, 3.0),
             "b3": (0.0, 1.0, 2.0, 3.0, 3.0), "mean": 1.5},
        ),
        "All signs flipped": Preset(
            "Every scale of the preset “Proposition 1” has changed its sign. A covariance is K "
            "times two scales, so the two signs cancel and nothing changes. No data could tell the "
            "difference either: −f₀ is as likely as f₀.",
            {"a1": (-1.0,) * 5, "a2": (-0.3, -0.6, -1.0, -1.4, -1.7), "a3": (0.8,) * 5},
        ),
        "The same classes from another scale": Preset(
            "The variance σ² of f₀ is four times that of the preset “Proposition 1”, and every "
            "scale is half as large. The latent's own matrix is four times as large, and all "
            "others stay as they were: f₀ doubles, a halves, and a class is their product. So the "
            "classes can tell us a·σ, but never a and σ apart.",
            {"variance": 4.0, "a1": (0.5,) * 5, "a2": (0.15, 0.3, 0.5, 0.7, 0.85),
             "a3": (-0.4,) * 5},
            "From K",
        ),
        "Three classes, one rank": Preset(
            "All classes at 16 inputs are 48 values, but they come from 16 values of f₀: all "
            "eigenvalues after the 16th are zero. Three independent processes would have 48.",
            {"view": "joint", "kernel": "matern32", "a2": (2.0, 1.0, 0.5, 1.0, 2.0)},
            "Rank and terms",
        ),
        "Two latents": Preset(
            "There are two latents: class 1 has the first, the others mix both. Flows are linear, "
            "but the correlation at one input is no longer ±1. It is the cosine of the angle "
            "between the shares of two classes, 45° here, and the draws leave their line. Move the "
            "mixing to 0 and see them return to it.",
            {"latents": 2, "a2": (1.0,) * 5},
            "Two classes at one x",
        ),
        "Bent flows": Preset(
            "Class 1 is skewed to the right, class 2 to the left. Their correlation at equal "
            "inputs falls below 1, yet the draws lie on one curve: each value still determines the "
            "other. Flows that differ only in skew are combinations of two functions of f₀, so 32 "
            "of 48 eigenvalues remain. Set the non-linearity to 0, and the correlation is 1 again.",
            {"family": "sal", "tails": 1.4, "skew1": -2.0, "skew2": 2.0, "a2": (1.0,) * 5},
            "Two classes at one x",
        ),
        "One term is not enough": Preset(
            "Steps at three places, but only the first term of the series, which is the one in "
            "Proposition 1. With 20 000 draws the difference is visible, and more draws do not "
            "close the gap. Add terms until formula and Monte Carlo agree.",
            {"family": "tanh", "terms": 1, "draws": 20000, "height": 5.0, "d": 1},
            "Difference",
        ),
        "The mean matters now": Preset(
            "The same bent flows, but f₀ has a mean of 1.5: it reaches other parts of the flows, "
            "and every covariance changes. For linear flows the mean changes nothing.",
            {"family": "sal", "mean": 1.5, "tails": 1.4},
        ),
        "Heavy tails": Preset(
            "Very heavy tails and only 100 draws. Rare, high values make up most of the "
            "covariance; a small sample misses them, and so does its standard error. Resample, "
            "then take more draws.",
            {"family": "sal", "tails": 1.8, "skew1": -2.0, "draws": 100, "d": 1},
        ),
    }  # fmt: skip

    def compute_records(self, state: CovarianceState) -> Iterator[tuple[str, Any]]:
        latent, shape = controls.kernel_arguments(state), _shape(state)
        mixture = (state.latents, state.mixing) if _is_mixed(state) else (1, 0.0)
        source = Source(latent, state.mean, state.seed, state.draws, mixture)
        num_terms = state.terms if shape.bend else MAX_TERMS
        series = (source, shape, num_terms)
        pair = (state.c - 1, state.d - 1)
        compared_pair = pair if state.view == "pair" else None
        yield "variance", partial(session.variances, source, shape, num_terms, state.at)
        yield "correlation", partial(session.equal_inputs, *series, state.at)
        compared = session.comparison(source, shape, num_terms, compared_pair)
        yield "analytic", compared
        yield "estimate", compared
        yield "difference", compared
        yield "together", partial(session.together, source, shape, num_terms, pair, state.at)
        yield "convergence", partial(session.convergence, source, shape, num_terms, compared_pair)
        yield "spectrum", partial(session.spectrum, *series)
        yield "terms", partial(session.terms, *series)
        yield "latent", session.latent_matrix(latent)

    def title(self, state: CovarianceState) -> str:
        kind = {"linear": "linear", "sal": "sinh-arcsinh", "tanh": "tanh"}[state.family]
        return f"Covariances of three classes, {kind} flows"

    def describe(self, state: CovarianceState) -> str:
        record, rank = self._records["difference"], self._records["spectrum"]
        left_out = float(np.max(self._records["terms"].left_out))
        verdict = _verdict(record, left_out)
        joint = (
            f"the {len(rank.joint)} values of all classes at {rank.num_inputs} inputs have a "
            f"joint covariance of rank {rank.rank}."
        )
        if _is_mixed(state) and state.mixing > 0.0:
            mixed = _about_mixed(self._records["together"], state.latents)
            return f"{verdict} {mixed}, and {joint}"
        if state.family != "linear":
            return f"{verdict} {_about_pair(self._records['together'])}"
        return (
            f"{verdict} With linear flows two classes at one input have a correlation of exactly "
            f"±1{_where_flat(self._records['correlation'])}, and {joint}"
        )

    def code(self, state: CovarianceState) -> str:
        shape, is_joint = _shape(state), state.view == "joint"
        used = "series.every(thin), F[:, :, ::thin]" if is_joint else "series, F"
        compared = f"x[::thin], {used}" if is_joint else f"x, {used}, (c, d)"
        return "\n".join(
            [
                "import numpy as np",
                "from etgp_viz import covariance, flows, prior, shared_latent",
                "from etgp_viz.records import covariance_check, flow as flow_records",
                "from etgp_viz.figures import analytic, convergence, difference, equal_inputs",
                "from etgp_viz.figures import estimate, latent_matrix, series_terms, spectrum",
                "from etgp_viz.figures import two_classes, variances",
                "",
                f"x = np.linspace(-3, 3, {len(X)})",
                f"kernel = prior.kernel{controls.kernel_arguments(state)!r}",
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
                *_code_of_latents(state),
                "F = flow.forward(f0, params[:, None]).numpy()",
                "",
                f"c, d, at = {state.c - 1}, {state.d - 1}, {state.at!r}",
                f"thin = {session.THIN}  # all classes at once: every second input",
                f"shown = covariance_check.compare({compared})",
                "records = {",
                '    "variance": covariance_check.variances(x, K, series, F, at),',
                '    "correlation": covariance_check.equal_inputs(x, series, at),',
                '    "analytic": shown, "estimate": shown, "difference": shown,',
                '    "together": covariance_check.two_classes(x, series, F, c, d, at),',
                f'    "convergence": covariance_check.convergence({used}, shown),',
                '    "spectrum": covariance_check.spectrum(series.every(thin)),',
                '    "terms": covariance_check.terms(full, series.order),',
                f'    "latent": flow_records.Matrix(x, K, {session.LATENT_NAME!r}),',
                "}",
                "pictures = {",
                '    "latent": latent_matrix, "analytic": analytic,',
                '    "estimate": estimate, "difference": difference,',
                '    "variance": variances, "correlation": equal_inputs, "together": two_classes,',
                '    "convergence": convergence, "spectrum": spectrum, "terms": series_terms,',
                "}",
                "for name, picture in pictures.items():",
                "    picture.make(records[name]).show()",
            ]
        )

    def print_figure(self) -> Any:
        return print_covariance.make(**self._records)

    def on_click(self, figure: str, panel: str, x: float, y: float) -> None:
        if figure in ("variance", "correlation"):
            self.set(at=round(float(X[np.argmin(np.abs(X - x))]), 1))


def _code_of_latents(state: CovarianceState) -> list[str]:
    """Lines that draw f₀, or mix several latents."""
    if not _is_mixed(state):
        return [f"f0 = mean + prior.draw(K, prior.noise({state.seed}, S, len(x)))"]
    seeds = [state.seed + session.OTHER_LATENT * k for k in range(state.latents)]
    arguments = f"{session.CLASSES}, {state.latents}, {state.mixing!r}"
    return [
        f"mixing = shared_latent.mixing_matrix({arguments})  # [C, L]",
        "series = series.mixed(mixing)",
        f"latents = [prior.draw(K, prior.noise(seed, S, len(x))) for seed in {seeds}]",
        "f0 = mean + np.tensordot(mixing, np.stack(latents), 1)  # a mixture for each class",
    ]


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
    """Sentences about whether formula and Monte Carlo agree, and how often they do by chance."""
    if record.agrees:
        end = "nothing here contradicts the formula."
    elif left_out > 1e-3:
        end = "the terms left out of the series make a difference."
    else:
        end = "a rare sample, or too few draws to estimate standard errors; resample, or take more."
    return (
        f"Formula and Monte Carlo with {record.num_draws} draws agree within "
        f"{covariance_check.WITHIN:.0f} standard errors at {record.share:.1%} of the entries. By "
        f"chance alone this is {covariance_check.EXPECTED_SHARE:.1%} on average and, since "
        f"neighbouring entries move together, seldom less than {record.least_by_chance:.1%}: {end}"
    )


def _where_flat(record: covariance_check.EqualInputs) -> str:
    """A reservation, if a class does not vary at some input."""
    is_flat = not np.all(np.isfinite(record.correlation))
    return " (none where a class does not vary)" if is_flat else ""


def _about_mixed(record: covariance_check.TwoClasses, latents: int) -> str:
    """A sentence about two classes that mix several latents, without its end."""
    if record.c == record.d or not np.isfinite(record.correlation):
        return f"There are {latents} latents"
    names = f"{style.process(record.c)} and {style.process(record.d)}"
    tied = "each determines the other" if record.is_curve else "neither determines the other"
    return (
        f"With {latents} latents, at x = {plotting.signed(record.at, 1)} {names} have a "
        f"correlation of {plotting.signed(record.correlation)} and {tied}"
    )


def _about_pair(record: covariance_check.TwoClasses) -> str:
    """A sentence about the correlation of two classes, and what it does not say."""
    if record.c == record.d or not np.isfinite(record.correlation):
        return "Choose two classes that vary to see their correlation fall below 1."
    names = f"{style.process(record.c)} and {style.process(record.d)}"
    return (
        f"At x = {record.at:.1f} {names} have a correlation of {record.correlation:.2f}, yet each "
        "determines the other."
    )
