"""Joint draws of two classes at one input: correlated or not, they lie on one curve."""

import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.covariance_check import Together


def make(record: Together) -> go.Figure:
    """A dot for each draw, and the curve on which all of them lie."""
    u, v = record.values
    dots = {"color": style.PALETTE[4], "size": 5, "opacity": 0.6}
    fig = go.Figure(
        [
            plotting.line(u, v, "curve", style.NEUTRAL, width=1.2),
            go.Scatter(x=u, y=v, mode="markers", marker=dots, name="draws",
                       hovertemplate="%{x:.2f}, %{y:.2f}<extra></extra>"),
        ],
        {
            "template": style.TEMPLATE,
            "height": 320,
            "margin": {"r": 20, "t": 50},
            "xaxis": {"title": {"text": ""}, "nticks": 6},
            "yaxis": {"title": {"text": ""}, "nticks": 6},
            "annotations": [plotting.heading("")],
        },
    )  # fmt: skip
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Together, refit: bool = False) -> None:
    """Move the dots."""
    u, v = record.values
    layout = {
        "xaxis.range": plotting.limits(fig, "xaxis", u, refit),
        "yaxis.range": plotting.limits(fig, "yaxis", v, refit),
        "xaxis.title.text": f"{style.process(record.c)}(x)",
        "yaxis.title.text": f"{style.process(record.d)}(x)",
        "annotations[0].text": _heading(record),
    }
    plotting.move(fig, {"x": [u, u], "y": [v, v]}, layout)


def _heading(record: Together) -> str:
    straight = abs(record.correlation) > 0.9995
    rest = "on a straight line" if straight else "yet on one curve"
    words = f"<b>draws at x = {record.at:.1f}</b><br>correlation {record.correlation:.2f}, {rest}"
    return words.replace("-", "−")
