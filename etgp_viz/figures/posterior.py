"""Pictures of GP regression: functions before and after the data, the evidence, the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.figures.plotting import Picture

if TYPE_CHECKING:
    from etgp_viz.records.posterior import Evidence, Functions, Slice

__all__ = ["evidence", "functions", "kernel_slice", "parameter_name", "parts_shown"]

POSTERIOR, DATA = style.PALETTE[0], style.PALETTE[3]
SIDES = np.array([[-2.0], [2.0]])  # a band is the mean ± 2 standard deviations
# Curves that fall further than this below the maximum, in nats, leave the frame.
DEPTH = 8.0
TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
SYMBOLS = {"lengthscale": "lengthscale ℓ", "variance": "variance σ²", "period": "period"}


@Picture
def functions(record: Functions) -> go.Figure:
    """The prior in grey, the posterior in blue, each with its band; the observations on top."""
    x, S = record.x, len(record.draws)
    nothing, flat = np.zeros_like(x), np.zeros((2, len(x)))
    thin = {"width": 1.4, "opacity": 0.75}
    lines = plotting.line
    observed = plotting.dots(
        "observations", DATA, 12, "observation<br>%{x:.3f}, %{y:.2f}",
        line={"color": "white", "width": 1.5},
    )  # fmt: skip
    observed.error_y = {"type": "data", "array": [], "thickness": 1.5, "width": 4, "color": DATA}
    return plotting.figure(
        [
            plotting.band(x, flat, "prior, mean ± 2 sd", style.NEUTRAL),
            plotting.band(x, flat, "posterior, mean ± 2 sd", POSTERIOR),
            *(
                lines(x, nothing, f"prior, mean {sign} 2 sd", style.NEUTRAL, dash="dot", width=1.5)
                for sign in "−+"
            ),
            *(
                lines(x, nothing, f"new observation, {sign} 2 sd", DATA, dash="dash", width=1.5)
                for sign in "−+"
            ),
            *(lines(x, nothing, f"draw {s + 1} from the prior", style.NEUTRAL, **thin)
              for s in range(S)),
            *(lines(x, nothing, f"draw {s + 1} from the posterior", POSTERIOR, **thin)
              for s in range(S)),
            lines(x, nothing, "mean of the prior", style.NEUTRAL, width=style.HERO_WIDTH),
            lines(x, nothing, "mean of the posterior", POSTERIOR, width=style.HERO_WIDTH - 1),
            observed,
        ],
        430,
        {"r": 20, "t": 50},
        xaxis=plotting.axis("input x", range=[x[0], x[-1]]),
        yaxis=plotting.axis("value f₀(x)"),
    )  # fmt: skip


def parts_shown(record: Functions) -> tuple[bool, bool]:
    """Whether prior and posterior are shown."""
    return record.shows != "posterior", record.shows != "prior"


@functions.updater
def _update_functions(fig: go.Figure, record: Functions, refit: bool = False) -> None:
    S, D = len(record.draws), record.shown_draws
    prior, posterior = parts_shown(record)
    prior_limits = SIDES * record.prior_deviation
    limits = record.mean + SIDES * record.deviation
    new_limits = record.mean + SIDES * np.hypot(record.deviation, record.noise)
    draws = [k < D for k in range(S)]
    new = record.shows_new and posterior
    curves = [
        plotting.outline(prior_limits), plotting.outline(limits), *prior_limits, *new_limits,
        *record.prior_draws, *record.draws, np.zeros_like(record.x), record.mean,
    ]  # fmt: skip
    visible = [
        prior, posterior, not prior, not prior, new, new,
        *(prior and shown for shown in draws), *(posterior and shown for shown in draws),
        prior, posterior, True,
    ]  # fmt: skip
    drawn = [curve for curve, shown in zip(curves, visible, strict=False) if shown]
    reach = np.concatenate([*drawn, record.Y])
    around, lines = [plotting.there_and_back(record.x)] * 2, [record.x] * (len(curves) - 2)
    bars = np.full(len(record.Y), 2.0 * record.noise)
    plotting.move(
        fig,
        {
            "x": [*around, *lines, record.X],
            "y": [*curves, record.Y],
            "visible": visible,
            "error_y.array": [*[None] * len(curves), bars],
        },
        {
            "yaxis.range": plotting.limits(fig, "yaxis", reach, refit),
            "annotations[0].text": _heading(record),
        },
    )


def _heading(record: Functions) -> str:
    """What is drawn, in the colours in which it is drawn."""
    prior, posterior = parts_shown(record)
    names = []
    if posterior:
        given = "given the observations" if len(record.Y) else "= prior: nothing observed yet"
        names.append(plotting.coloured(f"posterior {given}", POSTERIOR))
    if prior:
        names.append("prior" if posterior else "prior, as if nothing had been observed")
    dotted = "" if prior else "; dotted: prior"
    new = "; dashed: a new observation" if record.shows_new and posterior else ""
    plain = f"thick: mean, shaded: mean ± 2 sd, thin: draws{dotted}{new}"
    return plotting.heading_text(" and ".join(names), plain)


@Picture
def evidence(record: Evidence) -> go.Figure:
    """log p(Y) over one parameter, its value now, and its maximum."""
    hover = "%{x:.3g}<br>log p(Y) = %{y:.2f}"
    look = {"hovertemplate": f"{hover}<extra></extra>", "width": 3.5}
    return plotting.figure(
        [
            plotting.line(record.values, record.log_likelihood, "log p(Y)", POSTERIOR, **look),
            plotting.dots("now", style.NEUTRAL, 13, f"now<br>{hover}").update(cliponaxis=False),
            plotting.dots("maximum", DATA, 15, f"maximum<br>{hover}", symbol="star").update(
                cliponaxis=False
            ),
        ],
        330,
        {"r": 20, "t": 50},
        xaxis=plotting.axis(type="log", tickvals=TICKS, range=np.log10(record.values[[0, -1]])),
        yaxis=plotting.axis("log p(Y), nats"),
    )


@evidence.updater
def _update_evidence(fig: go.Figure, record: Evidence, refit: bool = False) -> None:
    best = record.best_log_likelihood
    low = max(float(np.min(record.log_likelihood)), best - DEPTH)
    now = max(record.at_log_likelihood, best - DEPTH)
    title = f"log p(Y) = {plotting.signed(record.at_log_likelihood)}"
    star = plotting.coloured("★", DATA)
    plain = f"● now, {star} best: {record.best:.2f}" if record.observations else "no data yet"
    # The curve is as deep as the data make it: its frame follows them at once.
    held = plotting.limits(fig, "yaxis", np.array([low, best]))
    is_loose = held[1] - held[0] > 3.0 * max(best - low, 1.0)
    plotting.move(
        fig,
        {
            "x": [record.values, np.array([record.at]), np.array([record.best])],
            "y": [record.log_likelihood, np.array([now]), np.array([best])],
            "visible": [True, True, record.observations > 0],
        },
        {
            "xaxis.title.text": parameter_name(record),
            "xaxis.range": np.log10(record.values[[0, -1]]).tolist(),
            "yaxis.range": plotting.limits(fig, "yaxis", np.array([low, best]), refit or is_loose),
            "annotations[0].text": plotting.heading_text(title, plain),
        },
    )


def parameter_name(record: Evidence) -> str:
    """The parameter in words and with its symbol."""
    second = " of the second kernel" if record.second else ""
    return f"{SYMBOLS[record.name]}{second}"


@Picture
def kernel_slice(record: Slice) -> go.Figure:
    """k(x, x′) over x for one x′."""
    x = record.x
    return plotting.figure(
        [plotting.line(x, record.values, "k(x, x′)", style.NEUTRAL, width=style.HERO_WIDTH)],
        330,
        {"r": 20, "t": 50},
        xaxis=plotting.axis("input x", range=[x[0], x[-1]]),
        yaxis=plotting.axis("covariance k(x, x′)", rangemode="tozero"),
        shapes=[plotting.mark(record.at)],
    )


@kernel_slice.updater
def _update_kernel_slice(fig: go.Figure, record: Slice, refit: bool = False) -> None:
    reach = np.append(record.values, 0.0)
    plain = f"for x′ = {plotting.signed(record.at, 0)}"
    layout: dict[str, Any] = {
        "yaxis.range": plotting.limits(fig, "yaxis", reach, refit),
        "annotations[0].text": plotting.heading_text(f"kernel: {record.name}", plain),
        **plotting.marked(record.at),
    }
    plotting.move(fig, {"y": [record.values]}, layout)
