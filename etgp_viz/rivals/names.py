"""The names of all models, in one table that loads no TensorFlow.

`etgp_viz.build` makes every model in `MODELS`. The experiments add whether the classes of an SVGP
share a kernel (`etgp_viz.experiments.MODELS`), the race adds how a model is computed
(`etgp_viz.timing.MODELS`); both take everything else from here. Ask a `Model` what it can do
(`has_network`, `has_bayesian_average`, `is_trained_by_fit`, …) rather than comparing names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "ALL_FLOWS",
    "ANY_FLOW",
    "BEYOND_PAPER",
    "ETGPS",
    "EXTENDED",
    "EXTENDED_OPTIONS",
    "FLOWS",
    "KINDS",
    "MODELS",
    "NON_STATIONARY",
    "PARAMETERS",
    "PREDICTIVE_DRAWS",
    "SHARING",
    "STATIONARY",
    "SVGPS",
    "Model",
]

#: draws per row in the predictions of every model that is compared, by Monte Carlo (SVGP) or by
#: dropout (the Bayesian average), in the race, the experiments and the benchmarks alike. It is
#: GPflow's number; ``python -m benchmarks draws`` prints the error that it leaves.
PREDICTIVE_DRAWS = 100
#: whether each class of an SVGP has its own kernel and inducing points, or all use the same
SHARING = ("separate", "shared")
#: where the flow parameters of an ETGP come from: a network with fixed dropout, with learnt dropout
#: rates, with a Gaussian output layer, or Gaussian processes (`etgp_viz.extensions`)
PARAMETERS = ("dropout", "concrete", "mean-field", "gp")


@dataclass(frozen=True)
class Model:
    """A model of the comparison, and what can be done with it."""

    family: str  # "etgp", "svgp", "tgp", "network" or "sklearn"
    variant: str = ""  # what tells it from the others of its family: a flow, a kernel, a method
    num_params: int = 0  # P, the parameters of one flow with its default options; 0 without flows
    is_stationary: bool = True  # whether its kernel depends on x − x′ alone
    is_in_paper: bool = True  # whether the paper compares it with ETGP, or is about it
    has_network: bool = False  # whether `build` takes the options of a network, such as ``hidden``
    is_monte_carlo: bool = False  # whether its predictions average over draws of its processes
    sharings: tuple[str, ...] = ("",)  # values of ``sharing`` that `build` takes; "" for none
    #: of a model with a network, which of these options `build` takes
    network_settings: tuple[str, ...] = ("hidden", "dropout", "weight_decay")

    @property
    def label(self) -> str:
        """The name in tables and figures, such as ``ETGP LINEAR``.

        >>> MODELS["svgp-rbf"].label, MODELS["network"].label, MODELS["boosting"].label
        ('SVGP RBF', 'NETWORK', 'BOOSTING')
        """
        family = "" if self.family == "sklearn" else self.family
        return f"{family} {self.variant}".strip().upper()

    @property
    def short_label(self) -> str:
        """The name where the family is known already: the flow, the kernel, or the whole name."""
        return (self.variant or self.family).upper()

    @property
    def has_bayesian_average(self) -> bool:
        """Whether it predicts in two ways: by point estimate, or averaged over dropout draws."""
        return self.has_network and self.family != "svgp"

    @property
    def has_inducing_points(self) -> bool:
        """Whether it has M inducing points, and so a Gaussian process."""
        return self.family in ("etgp", "svgp", "tgp")

    @property
    def takes_flow(self) -> bool:
        """Whether the flow is an option of `build`."""
        return self.family in ("etgp", "tgp") and not self.variant

    @property
    def is_trained_by_fit(self) -> bool:
        """Whether `etgp_viz.fit` trains it, step by step; if not, ``model.train(data)`` does."""
        return self.family != "sklearn"


def _svgp(variant: str, **changes: Any) -> Model:
    return Model("svgp", variant, **{"is_monte_carlo": True, **changes}, sharings=SHARING)


#: name of `etgp_viz.build` → the model
MODELS = {
    "etgp-linear": Model("etgp", "linear", num_params=2, has_network=True),
    "etgp-sal": Model("etgp", "sal", num_params=12, has_network=True),
    "etgp-tanh": Model("etgp", "tanh", num_params=12, has_network=True),
    "svgp-rbf": _svgp("rbf"),
    "svgp-rbfcorr": _svgp("rbfcorr"),
    "svgp-arccos": _svgp("arccos", is_stationary=False),
    "svgp-nnet": _svgp("nnet", is_stationary=False),
    "svgp-robustmax": _svgp("robustmax", is_in_paper=False, is_monte_carlo=False),
    "svgp-deep": Model(
        *("svgp", "deep"),
        is_stationary=False,
        is_in_paper=False,
        has_network=True,
        is_monte_carlo=True,
    ),
    "tgp": Model("tgp", num_params=2, has_network=True, is_monte_carlo=True, sharings=SHARING),
    "network": Model("network", is_in_paper=False, has_network=True),
    "logistic": Model("sklearn", "logistic", is_in_paper=False),
    "boosting": Model("sklearn", "boosting", is_in_paper=False),
}


def _of_paper(family: str) -> tuple[str, ...]:
    return tuple(name for name, m in MODELS.items() if m.family == family and m.is_in_paper)


ETGPS = _of_paper("etgp")
#: the paper's SVGPs, which differ in their kernels
SVGPS = _of_paper("svgp")
STATIONARY = tuple(name for name in SVGPS if MODELS[name].is_stationary)
NON_STATIONARY = tuple(name for name in SVGPS if not MODELS[name].is_stationary)
#: the controls and rivals that the paper does not have
BEYOND_PAPER = tuple(name for name, model in MODELS.items() if not model.is_in_paper)
#: flows by name, as ``build`` and ``ETGPClassifier`` take them
FLOWS = tuple(MODELS[name].variant for name in ETGPS)
#: the paper's flows and those of the zoo (`etgp_viz.extensions.flow_zoo`), by name
ALL_FLOWS = (*FLOWS, "arcsinh", "boxcox", "inverse-boxcox", "steps", "spline")
#: what `build` makes besides `MODELS`: an ETGP with any flow, which is not compared by itself
ANY_FLOW = {"etgp": Model("etgp", is_in_paper=False, has_network=True)}


def _extended(variant: str, num_params: int = 2, *without: str) -> Model:
    settings = tuple(name for name in Model.network_settings if name not in without)
    return Model(
        *("etgp", variant, num_params),
        is_in_paper=False,
        has_network=True,
        network_settings=settings,
    )


#: extended ETGPs that the experiments compare with ETGP LINEAR; each changes one thing about it
EXTENDED = {
    "etgp-latents": _extended("latents", 4),  # with two weights of the latents
    "etgp-features": _extended("features"),
    "etgp-concrete": _extended("concrete"),
    "etgp-mean-field": _extended("mean-field", 2, "dropout"),
    "etgp-gp": _extended("gp", 2, "hidden", "dropout"),
    "etgp-spline": _extended("spline", 13),
}
#: extended ETGP → the options with which ``build("etgp", …)`` makes it
EXTENDED_OPTIONS: dict[str, dict[str, Any]] = {
    "etgp-latents": {"latents": 2},
    "etgp-features": {"features": "shared"},
    "etgp-concrete": {"parameters": "concrete"},
    "etgp-mean-field": {"parameters": "mean-field"},
    "etgp-gp": {"parameters": "gp"},
    "etgp-spline": {"flow": "spline"},
}
#: every model of the experiments
KINDS = MODELS | EXTENDED
