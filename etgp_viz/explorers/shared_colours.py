"""Heat maps that are compared with each other: one colour scale, and one colour bar."""

from collections.abc import Container, Iterable, Mapping
from typing import Any

from etgp_viz.figures import plotting


class SharedColours:
    """Keeps the heat maps of each group comparable.

    Parameters
    ----------
    groups : names of the figures of each group, from left to right
    """

    def __init__(self, groups: Iterable[Iterable[str]]) -> None:
        self._groups = [tuple(group) for group in groups]

    def begin(self, figures: Mapping[str, Any]) -> None:
        """Give every group one scale and one bar, before a browser hears of the figures."""
        for group in self._groups:
            self.scale(figures, group[0])
        self.show_bars(figures, figures)

    def scale(self, figures: Mapping[str, Any], name: str, refit: bool = False) -> None:
        """Fit the scale of the group of a figure that has changed."""
        for group in self._groups:
            if name in group:
                plotting.share_colours([figures[other] for other in group], refit)

    def show_bars(self, figures: Mapping[str, Any], shown: Container[str]) -> None:
        """Let the rightmost figure of each group that is shown have the bar."""
        for group in self._groups:
            seen = [name for name in group if name in shown]
            for name in seen:
                plotting.move(figures[name], {"showscale": [name == seen[-1]]})
