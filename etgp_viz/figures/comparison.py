"""A covariance of classes by formula, by Monte Carlo, and their difference: three heat maps."""

from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from etgp_viz.figures import plotting, style
from etgp_viz.records.covariance_check import EXPECTED_SHARE, WITHIN, Comparison

Part = Literal["analytic", "estimate", "difference"]
# Differences are coloured up to so many standard errors.
PALEST = 4.0
HEIGHT, TOP = 340, 50


class Heat:
    """One of the three heat maps: `make` and `update` of a `Comparison`.

    Formula and Monte Carlo have one colour scale; the difference is in standard errors, and its
    colours always mean the same.
    """

    def __init__(self, part: Part) -> None:
        self.part = part

    def make(self, record: Comparison) -> go.Figure:
        """A heat map with the rows downwards, as a matrix is written."""
        bar = {"thickness": 10, "outlinewidth": 0, "nticks": 5, "xpad": 4}
        trace = go.Heatmap(
            name=self.part, colorscale=style.DIVERGING, colorbar=bar, z=[[0.0]],
            zmin=-PALEST, zmax=PALEST,
            hovertemplate="%{y} and %{x}<br>%{z:.3f}<extra></extra>",
        )  # fmt: skip
        line = {"color": style.NEUTRAL, "width": 1}
        fig = go.Figure(
            trace,
            {
                "template": style.TEMPLATE,
                "height": HEIGHT,
                "margin": {"r": 20, "t": TOP},
                "xaxis": {
                    "type": "category",
                    "tickmode": "array",
                    "tickangle": 0,
                    "showgrid": False,
                },
                "yaxis": {"type": "category", "tickmode": "array", "showgrid": False},
                "annotations": [plotting.heading("")],
                "shapes": [{"type": "path", "path": "M0,0", "line": line, "visible": False}],
            },
        )
        self.update(fig, record, refit=True)
        return fig

    def update(self, fig: go.Figure, record: Comparison, refit: bool = False) -> None:
        """Recolour; axes and their names change with the classes only."""
        trace = fig.data[0]
        rows, columns = labels(record.rows, record.x), labels(record.columns, record.x)
        layout: dict[str, Any] = {"annotations[0].text": self._heading(record)}
        if self.part == "difference":
            changes: dict[str, Any] = {"z": [np.round(record.difference, 2)]}
        else:
            both = np.stack([record.analytic, record.estimate])
            top = plotting.colour_limit(trace, both, refit)
            changes = {"z": [plotting.rounded(getattr(record, self.part))]}
            changes |= {"zmin": [-top], "zmax": [top]}
        if (list(trace.x or ()), list(trace.y or ())) != (columns, rows):
            changes |= {"x": [columns], "y": [rows]}
            layout |= _axis("xaxis", record.columns, record.x, "x′", columns)
            layout |= _axis("yaxis", record.rows, record.x, "x", rows)
            layout["xaxis.range"] = [-0.5, len(columns) - 0.5]
            layout["yaxis.range"] = [len(rows) - 0.5, -0.5]
            layout["shapes[0].path"] = _borders(len(record.rows), len(record.x))
            layout["shapes[0].visible"] = len(record.rows) > 1
        plotting.move(fig, changes, layout)

    def _heading(self, record: Comparison) -> str:
        if self.part == "analytic":
            return f"<b>by formula</b><br>{name_of(record)}"
        if self.part == "estimate":
            return f"<b>by Monte Carlo</b><br>{record.num_draws} draws, same colours"
        return (
            f"<b>difference in standard errors</b><br>{record.share:.1%} within ±{WITHIN:.0f} "
            f"(chance: {EXPECTED_SHARE:.1%})"
        )


ANALYTIC, ESTIMATE, DIFFERENCE = Heat("analytic"), Heat("estimate"), Heat("difference")


def name_of(record: Comparison) -> str:
    """What the covariance is of."""
    if len(record.rows) > 1:
        return "covariance of all classes"
    return f"Cov[{style.process(record.rows[0])}(x), {style.process(record.columns[0])}(x′)]"


def labels(classes: tuple[int, ...], x: np.ndarray) -> list[str]:
    """The name of each row or column, such as f²(−0.4)."""
    values = [f"{value:.1f}".replace("-", "−") for value in x]
    return [f"{style.process(c)}({value})" for c in classes for value in values]


def _axis(
    axis: str, classes: tuple[int, ...], x: np.ndarray, symbol: str, names: list[str]
) -> dict[str, Any]:
    """Ticks at a few inputs of one class, or one for each of several classes."""
    N = len(x)
    if len(classes) > 1:
        ticks = [names[k * N + N // 2] for k in range(len(classes))]
        words = [style.process(c) for c in classes]
        title = f"class, and {symbol} within it"
    else:
        places = np.linspace(0, N - 1, 7).round().astype(int)
        ticks = [names[n] for n in places]
        words = [f"{x[n]:.0f}".replace("-", "−") for n in places]
        title = f"{symbol} of {style.process(classes[0])}"
    return {f"{axis}.tickvals": ticks, f"{axis}.ticktext": words, f"{axis}.title.text": title}


def _borders(blocks: int, N: int) -> str:
    """Lines between the blocks, as one path."""
    end = blocks * N - 0.5
    places = [k * N - 0.5 for k in range(1, blocks)]
    return " ".join(f"M{p},-0.5 L{p},{end} M-0.5,{p} L{end},{p}" for p in places) or "M0,0"
