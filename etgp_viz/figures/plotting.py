"""What pictures share: axes that hold still, labels that keep apart, what is drawn as a table."""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from scipy.optimize import isotonic_regression

from etgp_viz.figures import style

# The frame around a curve, as a part of its height; the room that a frame gains on the side where a
# curve leaves it, so that it grows seldom; and the text size in "present" mode.
MARGIN = 0.08
GROWTH = 0.25
PRESENT_SIZE = 20


def move(
    fig: go.Figure,
    traces: Mapping[str, Sequence[Any]],
    layout: Mapping[str, Any] | None = None,
    first: int = 0,
) -> None:
    """Change a figure in place, in one message to the browser that holds only what has changed.

    plotly's own `batch_update` does the same with a check of every value, which takes longer than
    all the numbers behind the picture.

    Parameters
    ----------
    fig : the figure
    traces : property, such as "error_y.array" → its values, one for each trace from `first` on
    layout : path, such as "yaxis.range" or "annotations[2].text" → value
    first : the first trace to change
    """
    count = max((len(values) for values in traces.values()), default=0)
    differs = {
        name: [not _same(_value_at(fig._data[first + k], name), values[k]) for k in range(count)]
        for name, values in traces.items()
    }
    changed = [k for k in range(count) if any(flags[k] for flags in differs.values())]
    fig.plotly_update(
        restyle_data={
            name: [_sendable(values[k]) for k in changed]
            for name, values in traces.items()
            if any(differs[name])
        },
        relayout_data={
            path: value
            for path, value in (layout or {}).items()
            if not _same(_value_at(fig._layout, path), value)
        },
        trace_indexes=[first + k for k in changed],
    )


def _sendable(value: Any) -> Any:
    """Arrays cross to the browser as they lie in memory: in one piece."""
    return np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value


def _value_at(props: Any, path: str) -> Any:
    """What stands at a path such as "annotations[2].text", or None."""
    for key in re.findall(r"\w+", path):
        if isinstance(props, dict):
            props = props.get(key)
        elif isinstance(props, list | tuple) and int(key) < len(props):
            props = props[int(key)]
        else:
            return None
    return props


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, np.ndarray) or isinstance(new, np.ndarray):
        return old is new or np.array_equal(old, new)
    if isinstance(new, list | tuple):
        return old is not None and tuple(old) == tuple(new)
    return bool(old == new)


def limits(fig: go.Figure, axis: str, values: np.ndarray, refit: bool = False) -> list[float]:
    """Where an axis such as "yaxis" should end: it stays, and grows when the values leave it.

    With `refit` it fits them closely, whatever it held before.
    """
    return _limits(fig._layout.get(axis, {}).get("range"), values, refit)


def fit(axis: Any, values: np.ndarray, refit: bool = False) -> list[float]:
    """Let an axis have its `limits`, and return them.

    Inside a `batch_update` the axis itself still shows the old ones.
    """
    ends = _limits(axis.range, values, refit)
    axis.range = ends
    return ends


def _limits(held: Sequence[float] | None, values: np.ndarray, refit: bool) -> list[float]:
    low, high = float(np.min(values)), float(np.max(values))
    if held is None or refit:
        room = MARGIN * (high - low) or 1.0
        return [low - room, high + room]
    room = GROWTH * (max(high, held[1]) - min(low, held[0]))
    return [
        held[0] if held[0] <= low else low - room,
        held[1] if high <= held[1] else high + room,
    ]


def spread(heights: np.ndarray, gap: float) -> np.ndarray:
    """Heights moved as little as possible (least squares) so that all are `gap` apart.

    With h sorted, h′ᵢ₊₁ − h′ᵢ ≥ gap says that h′ᵢ − i·gap never falls: an isotonic regression.
    """
    heights = np.asarray(heights, dtype=float)
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    moved = np.empty_like(heights)
    moved[order] = isotonic_regression(heights[order] - steps).x + steps
    return moved


def enlarge(fig: go.Figure, large: bool) -> None:
    """Words to be read from the back of a lecture hall, or back to their usual size."""
    fig.layout.font.size = PRESENT_SIZE if large else style.TEXT_SIZE


def table(figures: Mapping[str, go.Figure]) -> str:
    """Everything that is drawn, as CSV with a row for each point (each cell of a heat map)."""
    parts = [
        _points(trace).assign(figure=name, trace=trace.name)
        for name, figure in figures.items()
        for trace in figure.data
        if trace.visible is not False
    ]
    columns = ["figure", "trace", "x", "y", "z"]
    text = io.StringIO()
    pd.concat(parts, ignore_index=True).reindex(columns=columns).to_csv(text, index=False)
    return text.getvalue()


def _points(trace: Any) -> pd.DataFrame:
    x, y = np.asarray(trace.x), np.asarray(trace.y)
    if trace.type not in ("heatmap", "contour"):
        return pd.DataFrame({"x": x, "y": y})
    columns, rows = np.meshgrid(x, y)
    z = np.asarray(trace.z, dtype=float)
    return pd.DataFrame({"x": columns.ravel(), "y": rows.ravel(), "z": z.ravel()})


def line(x: np.ndarray, y: np.ndarray, name: str, colour: str, **look: Any) -> go.Scatter:
    """A line; `look` holds `width`, `dash`, and anything else that a trace takes."""
    shape = {"color": colour, "width": look.pop("width", style.LINE_WIDTH)}
    shape |= {"dash": look.pop("dash", "solid"), "simplify": False}
    hover = look.pop("hovertemplate", f"{name}<br>%{{x:.2f}}, %{{y:.2f}}<extra></extra>")
    return go.Scatter(x=x, y=y, name=name, mode="lines", line=shape, hovertemplate=hover, **look)


def band(x: np.ndarray, limits: np.ndarray, name: str, colour: str, **look: Any) -> go.Scatter:
    """The region between two curves ``[2, N]``, as one closed outline."""
    return go.Scatter(
        x=np.concatenate([x, x[::-1]]),
        y=outline(limits),
        name=name,
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=translucent(colour),
        hoverinfo="skip",
        **look,
    )


def outline(limits: np.ndarray) -> np.ndarray:
    """The y of a `band`: the lower curve forth and the upper one back."""
    return np.concatenate([limits[0], limits[1][::-1]])


def translucent(colour: str, opacity: float = 0.18) -> str:
    """A colour (#rrggbb or rgb(…)) that lets what lies behind shine through."""
    if colour.startswith("rgb("):
        return colour.replace("rgb(", "rgba(").replace(")", f", {opacity})")
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def label(text: str, colour: str, **place: Any) -> dict[str, Any]:
    """A direct label to the right of a line's end."""
    look = {"align": "left", "xanchor": "left", "xshift": 6, "showarrow": False}
    return {"text": text, "font": {"color": colour}, **look, **place}


def names(x: float, words: list[str], colours: list[str]) -> go.Scatter:
    """Direct labels to the right of several lines' ends, as one trace.

    Its heights `y` move with the lines in one step; plotly takes a millisecond for each `label`.
    """
    place = {"x": np.full(len(words), x), "y": np.zeros(len(words)), "cliponaxis": False}
    look = {"textposition": "middle right", "textfont": {"color": colours}, "hoverinfo": "skip"}
    return go.Scatter(text=words, mode="text", name="names of the lines", **place, **look)


def heading(text: str) -> dict[str, Any]:
    """What a panel shows, above its upper left corner."""
    place = {"xref": "paper", "yref": "paper", "x": 0.0, "y": 1.0, "yshift": 4}
    look = {"xanchor": "left", "yanchor": "bottom", "showarrow": False, "align": "left"}
    return {"text": f"<b>{text}</b>", **place, **look}


def heatmap(x: np.ndarray, z: np.ndarray, name: str, **look: Any) -> go.Heatmap:
    """A matrix over x and x′."""
    hover = f"{name}<br>x = %{{x:.2f}}, x′ = %{{y:.2f}}<br>%{{z:.3f}}<extra></extra>"
    return go.Heatmap(x=x, y=x, z=rounded(z), name=name, hovertemplate=hover, **look)


def rounded(z: np.ndarray) -> np.ndarray:
    """A matrix in four digits: matrices cross to the browser as text."""
    scale = np.max(np.abs(z)) or 1.0
    return np.round(z, int(np.clip(4 - np.ceil(np.log10(scale)), 0, 12)))


def colour_limit(trace: Any, z: np.ndarray, refit: bool = False) -> float:
    """Where a colour scale centred on zero should end: it grows when a matrix leaves it.

    It shrinks when the matrix has become pale.
    """
    top, held = float(np.max(np.abs(z))) or 1.0, trace.zmax
    return top if refit or held is None or not held / 4 <= top <= held else held


def fit_colours(trace: Any, z: np.ndarray, refit: bool = False) -> None:
    """Let the colours of a heat map, centred on zero, have their `colour_limit`."""
    top = colour_limit(trace, z, refit)
    trace.update(zmin=-top, zmax=top)


def coloured(words: str, colour: str) -> str:
    """Words in a line's colour, for headings that serve as legends."""
    return f"<span style='color:{colour}'>{words}</span>"


def mark(at: float) -> dict[str, Any]:
    """A dotted line at an input that somebody looks at."""
    look = {"color": style.NEUTRAL, "width": 1, "dash": "dot"}
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": at, "x1": at, "line": look}


def marked(at: float) -> dict[str, Any]:
    """Changes of a layout that move its first `mark`."""
    return {"shapes[0].x0": at, "shapes[0].x1": at}
