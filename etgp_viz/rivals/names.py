"""The names of all models, in one table that loads no TensorFlow.

`etgp_viz.build` makes every model in `MODELS`. The experiments add whether the classes of an SVGP
share a kernel (`etgp_viz.experiments.MODELS`), the race adds how a model is computed
(`etgp_viz.timing.MODELS`); both take everything else from here.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ETGPS", "FLOWS", "MODELS", "NON_STATIONARY", "SHARING", "STATIONARY", "SVGPS", "Model"]


@dataclass(frozen=True)
class Model:
    """A model of the comparison."""

    family: str  # "etgp", "svgp" or "tgp"
    variant: str = ""  # the flow of an ETGP, the kernel of an SVGP; empty for TGP, with any flow
    num_params: int = 0  # P, the parameters of one flow with its default options; 0 without flows
    is_stationary: bool = True  # whether its kernel depends on x − x′ alone

    @property
    def label(self) -> str:
        """The name in tables and figures, such as ``ETGP LINEAR``.

        >>> MODELS["svgp-rbf"].label
        'SVGP RBF'
        """
        return f"{self.family} {self.variant}".strip().upper()


#: name of `etgp_viz.build` → the model
MODELS = {
    "etgp-linear": Model("etgp", "linear", num_params=2),
    "etgp-sal": Model("etgp", "sal", num_params=12),
    "etgp-tanh": Model("etgp", "tanh", num_params=12),
    "svgp-rbf": Model("svgp", "rbf"),
    "svgp-rbfcorr": Model("svgp", "rbfcorr"),
    "svgp-arccos": Model("svgp", "arccos", is_stationary=False),
    "svgp-nnet": Model("svgp", "nnet", is_stationary=False),
    "tgp": Model("tgp", num_params=2),
}

ETGPS = tuple(name for name, model in MODELS.items() if model.family == "etgp")
SVGPS = tuple(name for name, model in MODELS.items() if model.family == "svgp")
STATIONARY = tuple(name for name in SVGPS if MODELS[name].is_stationary)
NON_STATIONARY = tuple(name for name in SVGPS if not MODELS[name].is_stationary)
#: flows by name, as ``build`` and ``ETGPClassifier`` take them
FLOWS = tuple(MODELS[name].variant for name in ETGPS)
#: whether each class of an SVGP has its own kernel and inducing points, or all use the same
SHARING = ("separate", "shared")
