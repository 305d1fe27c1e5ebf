"""A flow at one input: the map, its slope and its inverse."""

import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.flow import Marginal

MAP, SLOPE, INVERSE = style.PALETTE[0], style.PALETTE[3], style.PALETTE[2]


def make(record: Marginal) -> go.Figure:
    """g = G(f), |dG/df| and f = G⁻¹(g): the inverse is the map with its axes swapped."""
    lines = (
        ("no change, g = f", style.NEUTRAL, {"dash": "dot", "width": 1.5}),
        ("map G(f)", MAP, {"width": 3.5}),
        ("slope |dG/df|", SLOPE, {"dash": "dashdot"}),
        ("inverse G⁻¹", INVERSE, {"dash": "dash"}),
    )
    fig = go.Figure(
        [plotting.line(record.f, record.f, name, colour, **look) for name, colour, look in lines],
        {
            "template": style.TEMPLATE,
            "height": 330,
            "margin": {"r": 20, "t": 50},
            "xaxis": {"title": {"text": "f (inverse: g)"}, "range": [record.f[0], record.f[-1]]},
            "yaxis": {"title": {"text": "g = G(f) (inverse: f)"}},
            "annotations": [plotting.heading("")],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Marginal, refit: bool = False) -> None:
    """Move every line."""
    f, g = record.f, record.g
    names = (("map G", MAP), ("– · – slope", SLOPE), ("– – inverse", INVERSE))
    legend = ", ".join(plotting.coloured(name, colour) for name, colour in names)
    layout = {
        "xaxis.range": plotting.limits(fig, "xaxis", f, refit),
        "yaxis.range": plotting.limits(fig, "yaxis", g, refit),
        "annotations[0].text": f"<b>the flow at x = {record.at:.2f}</b><br>{legend}",
    }
    plotting.move(fig, {"x": [f, f, f, g], "y": [f, g, record.slope, f]}, layout)
