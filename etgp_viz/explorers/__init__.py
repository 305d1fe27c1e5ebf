"""Explorers: pictures with controls. Each shows itself as the last line of a notebook cell."""

from etgp_viz.explorers.covariance import CovarianceExplorer
from etgp_viz.explorers.flow import FlowExplorer

__all__ = ["CovarianceExplorer", "FlowExplorer"]
