"""ETGP itself: one latent process for C classes, beside one latent process for each class."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from etgp_viz.explorers import controls, tours
from etgp_viz.explorers import shared_latent_session as session
from etgp_viz.explorers.base import Explorer, Preset
from etgp_viz.explorers.fields import Choice, Number, Whole, controlled
from etgp_viz.explorers.shared_latent_session import DOTS, DRAWS, FLOWS, NETWORKS, X
from etgp_viz.figures import dependence, latents, pivot, probabilities, processes, style
from etgp_viz.figures.plotting import signed
from etgp_viz.figures.print import shared_latent as print_shared_latent
from etgp_viz.figures.shared_latent import MAX_CLASSES
from etgp_viz.records import shared_latent

FLOW_LABELS = {
    "linear": "LINEAR: a·f + b",
    "sal": "SAL: d·sinh(b·asinh f − a) + e",
    "tanh": "TANH: f + Σ aᵢ tanh(bᵢ(f + cᵢ))",
}
NUMBERS = (
    *("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
CLASSES = {c: f"class {c}: {style.process(c - 1)}" for c in range(1, MAX_CLASSES + 1)}


@dataclass(frozen=True)
class SharedLatentState:
    """The values of the controls; classes count from 1, and the explorer moves those beyond C."""

    model: str = controlled("etgp", Choice("model", shared_latent.MODELS, group="Model"))
    classes: int = controlled(4, Whole(
        "classes C", 2, MAX_CLASSES, group="Model", effect="more classes; the first ones stay"
    ))  # fmt: skip
    latents: int = controlled(2, Whole(
        "number of latents", 1, shared_latent.MAX_LATENTS, group="Model", when=session.is_mixed,
        effect="another latent to mix in; the first ones stay",
    ))  # fmt: skip
    mixing: float = controlled(0.4, Number(
        "mixing", 0.0, 1.0, group="Model", when=session.is_mixed,
        effect="more of the other latents in every class; at 0 there is the first one alone",
    ))  # fmt: skip
    kernel: str = controls.latent("kernel")
    lengthscale: float = controls.latent("lengthscale")
    variance: float = controls.latent("variance")
    period: float = controls.latent("period")
    seed: int = controls.latent("seed")
    held: tuple[float, ...] = controls.latent("held", figure="latents")
    flow: str = controlled(
        "sal", Choice("flows Gᶜ", FLOW_LABELS, group="Flows", when=session.has_flows)
    )
    amount: float = controlled(1.0, Number(
        "variation", 0.0, 2.0, group="Flows", when=session.has_flows,
        effect="flows that differ more between classes and along x",
    ))  # fmt: skip
    network_seed: int = controlled(
        7, Whole("network number", 0, 9999, typed=True, group="Flows", when=session.has_flows)
    )
    width: int = controlled(20, Whole(
        "width H", 2, 50, group="Flows", when=session.can_drop,
        effect="more hidden units, each with a smaller share",
    ))  # fmt: skip
    depth: int = controlled(1, Whole(
        "hidden layers", 0, 3, group="Flows", when=session.has_flows,
        effect="parameters that bend more often along x",
    ))  # fmt: skip
    dropout: float = controlled(0.0, Number(
        "dropout", 0.0, 0.9, group="Flows", when=session.can_drop,
        effect="networks that differ more from draw to draw",
    ))  # fmt: skip
    network_draw: int = controlled(0, Whole(
        "draw of network", 0, NETWORKS, group="Flows", when=session.drops,
        effect="another network; 0 is the one without dropout",
    ))  # fmt: skip
    stretch: float = controlled(1.0, Number(
        "stretch of f₀, s", 0.25, 4.0, log=True, group="Flows", when=session.is_linear,
        effect="f₀ times s, every slope a divided by s",
    ))  # fmt: skip
    shift: float = controlled(0.0, Number(
        "h(x) for all", -3.0, 3.0, group="Flows", when=session.is_linear,
        effect="the same wave h(x) is added to every class",
    ))  # fmt: skip
    at: float = controlled(
        1.0, Number("input x to look at", -3.0, 3.0, effect="the marked x moves right")
    )
    pivot: int = controlled(
        1, Choice("pivot class", CLASSES, effect="another class is given; the others follow")
    )
    focus: int = controlled(
        0, Choice("class in focus", {0: "none", **CLASSES}, effect="another class stands out")
    )


class SharedLatentExplorer(Explorer):
    """See C classes share one latent process, and what changes when each has its own.

    The figures show the latent f₀, the processes of the classes and the class probabilities over
    the same x, and what one process says about the others at the marked x. A click into one of the
    first three marks an x, and the line that marks it can be dragged. So can f₀ itself: the draw is
    then conditioned on the point that it was dragged to, and every class follows it.

    Parameters
    ----------
    values : where the controls start, by the names of the fields of `SharedLatentState`

    Examples
    --------
    >>> explorer = SharedLatentExplorer(classes=3, amount=0.0)
    >>> explorer.records["probabilities"].values[:, 0].round(2)
    array([0.33, 0.33, 0.33])
    """

    State = SharedLatentState
    handout = ("amount", "lengthscale")
    pictures: ClassVar = {
        "latents": latents,
        "processes": processes,
        "probabilities": probabilities,
        "pivot": pivot,
        "dependence": dependence,
    }
    full_width = ("latents", "processes", "probabilities")
    views: ClassVar = {
        "One latent, C classes": ("latents", "processes", "processes"),
        "Class probabilities": ("processes", "probabilities"),
        "One class gives all": ("pivot dependence",),
    }
    wide = (
        "latents latents pivot",
        "processes processes pivot",
        "processes processes dependence",
        "probabilities probabilities dependence",
    )
    main = ("amount", "classes", "lengthscale")
    presets: ClassVar = {
        "Guided tour": tours.SHARED_LATENT,
        "All begin alike": Preset(
            "The flows change nothing: every process is f₀ itself, and all classes are equally "
            "probable at every x. Training starts here. Softmax sees only differences "
            "between classes, so f₀ does not matter yet, whatever it is: choose another draw and "
            "see. Then raise the variation.",
            {"amount": 0.0},
        ),
        "Straight maps": Preset(
            "Linear flows: the processes are f₀, stretched and shifted differently at every x, "
            "some upside down. Any one of them determines all the others along straight lines, and "
            "the rank correlations are 1 or −1.",
            {"flow": "linear", "network_seed": 0},
        ),
        "Twice the latent, half the slopes": Preset(
            "f₀ is twice as large (σ² is 4 times as large) and every slope half as large. No "
            "process moves, and no probability: data cannot tell σ² and the slopes apart. Only the "
            "weight decay prefers one of them, so a trained σ² means little by itself. Move the "
            "stretch s: only the top figure changes.",
            {"flow": "linear", "network_seed": 0, "stretch": 2.0},
        ),
        "The same for every class": Preset(
            "The same wave h(x) is added to every process. All of them move, the probabilities do "
            "not: softmax sees only differences between classes. So the height of one process "
            "means nothing by itself; compare two.",
            {"flow": "linear", "network_seed": 0, "shift": 2.0},
            "Class probabilities",
        ),
        "Bent maps": Preset(
            "TANH flows bend the maps, but the dots still lie on them: one value determines all "
            "others. Move the marked x and see the maps change; change the pivot and see them "
            "inverted.",
            {"flow": "tanh", "network_seed": 4, "at": -1.0},
            "One class gives all",
        ),
        "Every class for itself": Preset(
            "Independent GPs with the same kernel and no flows. The dots are a cloud now: one "
            "process says nothing about another, and inference needs C Gaussian processes.",
            {"model": "independent"},
            "One class gives all",
        ),
        "Flows without sharing": Preset(
            "The naive TGP has the flows of ETGP, but a latent for each class. The first class is "
            "as in ETGP; the others no longer depend on it. Switch the model to compare.",
            {"model": "tgp"},
        ),
        "Two latents": Preset(
            "Two latents: class 1 has the first, the others mix both. The dots leave the line: a "
            "class says something about another one, but no longer determines it. Move the mixing "
            "to 0, and the cloud falls back onto the line of ETGP.",
            {"model": "mixed", "flow": "linear", "network_seed": 0},
            "One class gives all",
        ),
        "Twenty classes, one latent": Preset(
            "The number of classes grows, but there is still one latent Gaussian process to learn. "
            "One class is in focus: step through the others.",
            {"flow": "linear", "classes": 20, "focus": 3},
        ),
        "An uncertain network": Preset(
            "Dropout makes the network random. The shaded bands hold 90 % of the processes that "
            "its draws give for the same f₀; step through them with “draw of network”. The dropout "
            "rate sets how wide they are, and it is fixed: a posterior narrows as data arrive, but "
            "nothing makes these bands narrower.",
            {"dropout": 0.3, "network_draw": 1, "classes": 3},
        ),
    }  # fmt: skip

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        if max(self.state.pivot, self.state.focus) > self.state.classes:
            self._redraw()

    def compute_records(self, state: SharedLatentState) -> Iterator[tuple[str, Any]]:
        setting, n = session.setting_of(state), session.marked(state)
        focus = session.focus_of(state)
        self.controls["held"].unit = setting.stretch
        yield "latents", session.latents(setting, n)
        yield "processes", session.processes(setting, n, focus)
        yield "probabilities", partial(session.probabilities, setting, n, focus)
        yield "pivot", partial(session.pivot, setting, n, session.pivot_class(state), focus)
        yield "dependence", partial(session.dependence, setting, n)

    def _redraw(self, refit: bool = False) -> None:
        """Redraw with the last class in place of one beyond C, and say so."""
        C, beyond = self.controls["classes"].value, []
        with self._without_drawing():
            for name in ("pivot", "focus"):
                menu = self.controls[name]
                if menu.value > C:
                    beyond.append(f"{self._specs[name].label} {menu.value} became {C}")
                    menu.value = C
        super()._redraw(refit)
        if beyond:
            self._page.add_remark(f"There are {C} classes: {', '.join(beyond)}.")

    def title(self, state: SharedLatentState) -> str:
        count = NUMBERS[state.classes]
        if state.model == "etgp":
            return f"One latent, {count} classes"
        if state.model == "mixed":
            number = f"{NUMBERS[state.latents].capitalize()} latent{'s' * (state.latents > 1)}"
            return f"{number}, {count} classes, each with its own mixture"
        model = {"tgp": "the naive TGP", "independent": "independent GPs"}[state.model]
        return f"{count.capitalize()} latents, {count} classes: {model}"

    def describe(self, state: SharedLatentState) -> str:
        record, strength = self._records["pivot"], self._records["dependence"].strength
        pivot, partner = style.process(record.pivot), style.process(record.partner)
        winner, probability = self._records["probabilities"].winner
        dependence = (
            f"{pivot} determines all others: when it is {signed(record.values[record.pivot])}, "
            f"{partner} must be {signed(record.values[record.partner])}"
            if record.maps is not None
            else f"{pivot} says something about the others, but does not determine them"
            if state.model == "mixed"
            else f"{pivot} says nothing about the others"
        )
        return (
            f"At x = {signed(record.at)}, {dependence}. Over {DRAWS} joint draws, the rank "
            f"correlation of two classes has an average size of {strength:.2f}. The most probable "
            f"class there is {winner + 1}, with {probability:.0%}."
            f"{session.setting_of(state).held.sentence}"
            f"{session.same_model(session.setting_of(state))}"
        )

    def code(self, state: SharedLatentState) -> str:
        setting = session.setting_of(state)
        flow, hidden = FLOWS[state.flow], (state.width,) * state.depth
        rewrite = f"shared_latent.rewrite({{0}}, x, {setting.stretch!r}, {setting.shift!r})"
        rewritten = [f"{{0}} = {rewrite}"] if session.is_rewritten(setting) else []
        mix = ", mixing" if setting.mixture else ""
        mixing, more, rows = [], "", "C"
        if setting.mixture:
            L, amount = setting.mixture
            more, matrix = f", {L}", f"{L}, {amount!r}, seed={state.network_seed}"
            mixing = [f"mixing = shared_latent.mixing_matrix(C, {matrix})  # [C, L]"]
            rows = f"max(C, {L})"
        dropout = [
            f"networks = shared_latent.flow_params(network, x, samples={NETWORKS})",
            *(line.format("networks") for line in rewritten),
            f"drawn = shared_latent.warp(model, flow, latent.values, networks{mix})  # [S, C, N]",
        ]
        if state.network_draw:
            dropout.append(f"params = networks[{state.network_draw - 1}]")
        return "\n".join(
            [
                "import numpy as np",
                "from etgp_viz import flows, prior, shared_latent",
                "from etgp_viz.figures import dependence, latents, pivot, probabilities, processes",
                "",
                f"model, C, flow = {state.model!r}, {state.classes}, flows.{flow!r}",
                f"x = np.linspace(-3, 3, {len(X)})",
                f"n = {session.marked(state)}  # the marked input is x[n]",
                f"given = {session.pivot_class(state)}  # the pivot class",
                f"focus = {session.focus_of(state)}  # the class that stands out, or None",
                "",
                f"K = prior.covariance_matrix(prior.kernel{setting.latent!r}, x)",
                f"noise = prior.noise({state.seed}, {rows}, len(x) + {DRAWS})  # for x, for x[n]",
                "paths = prior.draw(K, noise[:, : len(x)])",
                *setting.held.code("paths"),
                f"latent = shared_latent.latents(model, x, paths, C, x[n], held{more})",
                *mixing,
                "",
                "network = prior.random_network(",
                f"    flow, C, hidden={hidden}, dropout={state.dropout!r},",
                f"    amount={state.amount!r}, seed={state.network_seed},",
                ")",
                "params = shared_latent.flow_params(network, x)  # raw, [C, N, P]",
                *(line.format("params") for line in rewritten),
                *(dropout if session.drops(state) else ["drawn = None"]),
                f"F = shared_latent.warp(model, flow, latent.values, params{mix})  # [C, N]",
                "",
                "there = (model, flow, params[:, n], K[n, n])",
                f"draws = shared_latent.joint_draws(*there, noise[:, len(x) :]{mix})  # [C, S]",
                f"P, dots = prior.probabilities(F), draws[:, :{DOTS}]",
                "records = {",
                '    "latents": latent,',
                '    "processes": shared_latent.processes(x, F, drawn, x[n], focus),',
                '    "probabilities": shared_latent.Probabilities(x, P, x[n], focus),',
                '    "pivot": shared_latent.pivot('
                f"*there, dots, F[:, n], x[n], given, focus{mix}),",
                '    "dependence": shared_latent.dependence(x[n], draws),',
                "}",
                *(f'{name}.make(records["{name}"]).show()' for name in self.pictures),
            ]
        )

    def print_figure(self) -> Any:
        return print_shared_latent.make(**self._records)

    def on_click(self, figure: str, panel: str, x: float, y: float) -> None:
        if figure in self.full_width:
            self.set(at=float(np.clip(x, X[0], X[-1])))
