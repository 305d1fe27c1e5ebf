"""The covariance of the latent f₀, framed like the heat maps that it is compared with."""

import plotly.graph_objects as go

from etgp_viz.figures import comparison, matrix
from etgp_viz.records.flow import Matrix


def make(record: Matrix) -> go.Figure:
    """A `matrix` as high as a `comparison`."""
    fig = matrix.make(record)
    return fig.update_layout(height=comparison.HEIGHT, margin={"r": 20, "t": comparison.TOP})


update = matrix.update
