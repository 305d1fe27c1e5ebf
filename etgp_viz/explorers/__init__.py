"""Explorers: pictures with controls. Each shows itself as the last line of a notebook cell."""

from etgp_viz.explorers.flow import FlowExplorer
from etgp_viz.explorers.inference import InferenceExplorer

__all__ = ["FlowExplorer", "InferenceExplorer"]
