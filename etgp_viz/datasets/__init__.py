"""Data sets that check themselves: toy generators."""

from etgp_viz.datasets import toys
from etgp_viz.datasets.record import Card, Dataset

__all__ = ["Card", "Dataset", "toys"]
