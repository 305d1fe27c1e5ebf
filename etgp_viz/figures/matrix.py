"""A matrix over x and x′, such as a covariance, in colours centred on zero."""

import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.flow import Matrix


def make(record: Matrix) -> go.Figure:
    """A heat map with x′ downwards, as a matrix is written."""
    bar = {"thickness": 10, "outlinewidth": 0, "nticks": 5, "xpad": 4}
    trace = plotting.heatmap(
        record.x, record.values, record.name, colorscale=style.DIVERGING, colorbar=bar
    )
    fig = go.Figure(
        trace,
        {
            "template": style.TEMPLATE,
            "height": 330,
            "margin": {"r": 20},
            "xaxis": {"title": {"text": "x"}, "constrain": "domain"},
            "yaxis": {"title": {"text": "x′"}, "autorange": "reversed"},
            "annotations": [plotting.heading("")],
        },
    )
    update(fig, record)
    return fig


def update(fig: go.Figure, record: Matrix, refit: bool = False) -> None:
    """Recolour; the scale grows when the matrix leaves it."""
    top = plotting.colour_limit(fig.data[0], record.values, refit)
    traces: dict[str, list] = {
        "z": [plotting.rounded(record.values)],
        "zmin": [-top],
        "zmax": [top],
    }
    plotting.move(fig, traces, {"annotations[0].text": f"<b>{record.name}</b>"})
