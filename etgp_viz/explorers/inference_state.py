"""What `InferenceExplorer` can be set to: the state of its controls, and its presets."""

import html
from dataclasses import dataclass
from typing import Any

from etgp_viz.explorers import tours
from etgp_viz.explorers.base import Preset
from etgp_viz.explorers.fields import Choice, Number, Switch, Whole, controlled
from etgp_viz.explorers.inference_session import has_dropout, has_network, is_own, is_planar
from etgp_viz.explorers.training_controls import Brush, Painted
from etgp_viz.records.own_data import OwnData
from etgp_viz.rivals import names

DATA = {
    "spirals": "spirals (2-d)",
    "moons": "moons (2-d)",
    "blobs": "blobs (2-d)",
    "region": "one region (2-d)",
    "waves": "waves (1-d)",
    "blobs 1-d": "blobs (1-d)",
    "region 1-d": "one region (1-d)",
}
FLOWS = {flow: flow.upper() for flow in names.ALL_FLOWS}
# Extensions of the paper's model → what they are called.
EXTENSIONS = {
    "none": "none: the paper's model",
    "concrete": "a learnt dropout rate",
    "mean-field": "a Bayesian output layer",
    "gp": "flow parameters from GPs",
    "features": "a deep kernel for f₀",
}
BATCHES = {0: "all rows", 16: "16 rows", 32: "32 rows", 60: "60 rows"}
REACH = 6.0  # clicks further from the origin are moved to this distance


def _is_toy(state: Any) -> bool:
    return not is_own(state)


@dataclass(frozen=True)
class InferenceState:
    """The values of the controls; `added` has x₁, x₂ and the class of each added point."""

    data: str = controlled("spirals", Choice("data", DATA, group="Data"), in_links="waves")
    num_classes: int = controlled(3, Whole(
        "classes C", 3, 8, group="Data", when=_is_toy, effect="more classes; compiles again"
    ))  # fmt: skip
    num_data: int = controlled(300, Whole(
        "points N", 60, 600, 20, group="Data", when=_is_toy, effect="more points"
    ), in_links=200)  # fmt: skip
    noise: float = controlled(0.1, Number(
        "noise", 0.0, 1.0, group="Data", when=_is_toy, effect="classes overlap more"
    ))  # fmt: skip
    seed: int = controlled(0, Whole("draw number", 0, 9999, typed=True, group="Data"))
    paint: int = controlled(1, Brush("paint", 1, 8, group="Data"))
    added: tuple[float, ...] = controlled((), Painted("points added", REACH, 8, group="Data"))
    flow: str = controlled("linear", Choice("flow G", FLOWS, group="Model"))
    num_inducing: int = controlled(24, Whole(
        "inducing points M", 3, 50, group="Model", effect="a finer latent; compiles again"
    ), in_links=15)  # fmt: skip
    extension: str = controlled("none", Choice("beyond the paper", EXTENSIONS, group="Model"))
    hidden: int = controlled(25, Whole(
        "hidden width H", 5, 100, 5, group="Model", when=has_network,
        effect="flows that bend more with x",
    ))  # fmt: skip
    dropout: float = controlled(0.25, Number(
        "dropout", 0.0, 0.75, group="Model", when=has_dropout, effect="PE and BA differ more"
    ))  # fmt: skip
    num_quadrature: int = controlled(
        20, Whole("nodes Q", 1, 40, group="Model", effect="a more exact ELBO")
    )
    refine: bool = controlled(True, Switch("more nodes where Q are too few", group="Model"))
    learning_rate: float = controlled(0.03, Number(
        "learning rate", 0.001, 0.1, log=True, group="Training",
        effect="longer steps, also during training",
    ), in_links=0.02)  # fmt: skip
    batch_size: int = controlled(0, Choice("mini-batch B", BATCHES, group="Training"))
    samples: int = controlled(10, Whole("dropout draws S", 1, 40, effect="a smoother BA"))
    cut: float = controlled(
        0.0, Number("cut at x₂", -3.0, 3.0, when=is_planar, effect="the cut moves upwards")
    )
    far: bool = controlled(False, Switch("look far away from the data"))


# Fields that can change without rebuilding the model.
VIEW = ("paint", "learning_rate", "samples", "cut", "far")
KEEP_MODEL = ("added", *VIEW)
# What presets of version 0.1 take for granted.
ON_A_LINE = {"data": "waves", "num_data": 200, "num_inducing": 15, "learning_rate": 0.02}


def state_with(own: OwnData) -> type[InferenceState]:
    """The class of states of an explorer of somebody's own data, which come first."""

    @dataclass(frozen=True)
    class OwnState(InferenceState):
        """The values of the controls, with somebody's own data among the data."""

        data: str = controlled(
            own.key, Choice("data", {own.key: f"{own.name} (yours)", **DATA}, group="Data")
        )

    return OwnState


def presets_with(own: OwnData) -> dict[str, Preset]:
    """The presets of an explorer of somebody's own data."""
    others = {name: preset for name, preset in PRESETS.items() if preset.values}
    story = f"{html.escape(own.words)}. Press play."  # names of columns are somebody's own text
    return {"Your data": Preset(story, {}), **others}


PRESETS = {
    "Guided tour": tours.INFERENCE,
    "A playground": Preset(
        "Three spirals, and a model after its first steps. Press play: the regions close in on "
        "the arms, and the inducing points (crosses) leave trails. Then choose a class and "
        "paint points while it trains; undo takes everything back.",
        {},
    ),
    "Waves along a line": Preset(
        "Three classes alternate along x. Press play: one latent f₀ learns the waves, and each "
        "flow bends it upwards where its class is found.",
        ON_A_LINE,
    ),
    "A class that is at home in one place": Preset(
        "The last class is found only for 1 < x < 2. Watch its process rise there and nowhere "
        "else: it comes from the same f₀, so this is the work of its flow.",
        {**ON_A_LINE, "data": "region 1-d", "num_classes": 4, "noise": 0.05,
         "learning_rate": 0.03},
    ),
    "Spirals": Preset(
        "Winding borders. With few inducing points the latent cannot follow the arms: try "
        "M = 8 and then M = 40.",
        {"data": "spirals", "num_data": 300, "num_inducing": 30, "learning_rate": 0.04},
    ),
    "Many moons": Preset(
        "Seven classes, still one Gaussian process. Where colours are pale, the model is "
        "unsure; on the grey line its entropy is half the maximum.",
        {"data": "moons", "num_classes": 7, "num_data": 400, "num_inducing": 30,
         "learning_rate": 0.04},
    ),
    "Clouds that overlap": Preset(
        "No border can be right here: a good model stays unsure between the clouds. BA averages "
        "over draws of the network and is a little less sure. That is not knowledge of where "
        "the data are: the dropout rate is fixed, so nothing pulls the draws together where "
        "there is a lot of data, or apart where there is none. Look far away and compare.",
        {"data": "blobs", "num_classes": 4, "noise": 0.9, "num_data": 300, "dropout": 0.5,
         "num_inducing": 15, "learning_rate": 0.03},
        "Two predictions",
    ),
    "Too few nodes": Preset(
        "Two nodes with a TANH flow, and the model may not add more where two are too few: "
        "training maximises something that is not the ELBO. Train, and see how far two nodes, "
        "and Monte Carlo, are from the truth. By default the model notices and adds nodes: "
        "tick “more nodes where Q are too few”.",
        {**ON_A_LINE, "flow": "tanh", "num_quadrature": 2, "refine": False,
         "learning_rate": 0.03},
        "Quadrature",
    ),
    "Far from the data": Preset(
        "The picture reaches far beyond the data. There q(f₀) returns to its prior (dotted), "
        "but the class probabilities do not return to 1/C: bᶜ(x) goes on as the network "
        "extrapolates, and the model stays sure far from anything it has seen. BA hardly "
        "helps, since its dropout rate is the same everywhere. Train and see.",
        {**ON_A_LINE, "data": "blobs 1-d", "far": True, "learning_rate": 0.03},
        "Latent and classes",
    ),
}  # fmt: skip
