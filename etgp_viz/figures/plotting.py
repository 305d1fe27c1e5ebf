"""Shared by all pictures: stable axes, labels that keep apart, and drawn numbers as a table."""

import html
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from scipy.optimize import isotonic_regression

from etgp_viz.figures import style
from etgp_viz.files import cell_text
from etgp_viz.messages import printable_text

# Space between a curve and its frame, as a share of the curve's height; space added on the side
# where a curve leaves its frame, so that the frame rarely grows; the frame fits anew if the curve
# needs less than this share of it.
MARGIN = 0.08
GROWTH = 0.4
LEAST = 0.2
# Text and lines in "present" mode, in usual sizes: 24 pixels.
PRESENT_SCALE = 24 / style.TEXT_SIZE
MAX_TABLE_ROWS = 60  # of each trace in a table for reading


# plotly's ``meta`` of a line whose points can be dragged: see observations.js.
DRAGGED = "dragged"

# The margin on the right of a heat map, wide enough for its colour bar: those that are compared are
# equally large, with a bar and without one.
BAR_MARGIN = 56

# The y axis of a square heat map, whose x axis has ``constrain="domain"``.
SQUARE = {"scaleanchor": "x", "scaleratio": 1, "constrain": "domain"}


class Picture:
    """How records of one kind are drawn, written like a property and its setter.

    ::

        @Picture
        def paths(record): ...

        @paths.updater
        def _update_paths(fig, record, refit=False): ...

    ``paths.blank(record)`` makes a figure with every trace and label that ``paths.update`` fills.
    ``paths.update`` changes a figure in place to show a record: axes stay where they are unless
    something would leave them, or `refit` fits them to the record.
    """

    update: Callable[..., None]

    def __init__(
        self, blank: Callable[[Any], go.Figure], update: Callable[..., None] | None = None
    ) -> None:
        self.blank = blank
        if update is not None:
            self.update = update

    def updater(self, update: Callable[..., None]) -> Callable[..., None]:
        """Let a function be this picture's `update`."""
        self.update = update
        return update

    def make(self, record: Any) -> go.Figure:
        """A complete figure of a record."""
        fig = self.blank(record)
        self.update(fig, record)
        return fig


def figure(
    traces: Sequence[Any], height: int, margin: Mapping[str, int], **layout: Any
) -> go.Figure:
    """A figure in the common style, of traces from the back to the front.

    Height and margin ("l", "r", "t", "b") are in pixels. `layout` is the rest of plotly's layout;
    without annotations, the figure has an empty `heading`.
    """
    look = {"template": style.TEMPLATE, "height": height, "margin": margin}
    return go.Figure(list(traces), {**look, "annotations": [heading()], **layout})


def axis(title: str = "", **options: Any) -> dict[str, Any]:
    """An axis with a title; `options` are plotly's, such as ``range`` or ``nticks``."""
    return {"title": {"text": title}, **options}


def move(
    fig: go.Figure,
    traces: Mapping[str, Sequence[Any]],
    layout: Mapping[str, Any] | None = None,
    first: int = 0,
) -> None:
    """Change a figure in place, in one message to the browser that holds only what has changed.

    `traces` maps a property, such as "error_y.array", to its values for each trace from `first` on;
    `layout` maps a path, such as "annotations[2].text", to a value. plotly's `batch_update` does
    the same but validates every value, which takes longer than computing all the numbers behind the
    picture.
    """
    count = max((len(values) for values in traces.values()), default=0)
    stored_traces, stored_layout = _stored(fig)
    differs = {
        name: [
            not _equal(_value_at(stored_traces[first + k], name), values[k]) for k in range(count)
        ]
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
            path: _sendable(value)
            for path, value in (layout or {}).items()
            if not _equal(_value_at(stored_layout, path), value)
        },
        trace_indexes=[first + k for k in changed],
    )


def _stored(fig: go.Figure) -> tuple[Any, Any]:
    """Traces and layout to look values up in: dictionaries if the figure offers them.

    The live figures of explorers do; plotly's own objects check every step of the way.
    """
    return fig.stored() if hasattr(fig, "stored") else (fig.data, fig.layout)


def _sendable(value: Any) -> Any:
    """A value as plotly stores and sends it: an array in one piece, a list and not a tuple."""
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value)
    return list(value) if isinstance(value, tuple) else value


def _value_at(props: Any, path: str) -> Any:
    """The value at a path such as "annotations[2].text", or None."""
    for key in re.findall(r"\w+", path):
        if isinstance(props, list | tuple):
            props = props[int(key)] if int(key) < len(props) else None
        elif props is not None:
            props = props.get(key) if isinstance(props, dict) else props[key]
    return props


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, np.ndarray) or isinstance(new, np.ndarray):
        return old is new or np.array_equal(old, new)
    if isinstance(new, list | tuple):
        return old is not None and tuple(old) == tuple(new)
    return bool(old == new)


def limits(fig: go.Figure, axis: str, values: np.ndarray, refit: bool = False) -> list[float]:
    """Both ends of an axis such as "yaxis": as they are, or wider if the values leave them.

    If the values need only a small share of the axis, or with `refit`, they fit the values.
    """
    held = _value_at(_stored(fig)[1], f"{axis}.range")
    if held is not None and _is_held(fig):
        return list(held)
    low, high = float(np.min(values)), float(np.max(values))
    if held is None or refit or high - low < LEAST * (held[1] - held[0]):
        return fitted(values, MARGIN)
    room = GROWTH * (max(high, held[1]) - min(low, held[0]))
    return [
        held[0] if held[0] <= low else low - room,
        held[1] if high <= held[1] else high + room,
    ]


def _is_held(fig: Any) -> bool:
    """Whether axes and colours stay as they are: while somebody drags something."""
    return getattr(fig, "holds_axes", False)


def fitted(values: np.ndarray, margin: float) -> list[float]:
    """Both ends of an axis that fits the values, with a margin as a share of their range."""
    low, high = float(np.min(values)), float(np.max(values))
    room = margin * (high - low) or 1.0
    return [low - room, high + room]


def spread(
    heights: np.ndarray, gap: float, within: tuple[float, float] = (-np.inf, np.inf)
) -> np.ndarray:
    """Heights moved as little as possible (least squares) so that all are `gap` apart.

    With h sorted, h′ᵢ₊₁ − h′ᵢ ≥ gap says that h′ᵢ − i·gap never falls: an isotonic regression. If
    all are to stay `within` two ends, its solution is cut at low and at high − (n − 1)·gap.
    """
    heights = np.asarray(heights, dtype=float)
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    moved = np.empty_like(heights)
    low, high = within
    level = isotonic_regression(heights[order] - steps).x
    moved[order] = np.clip(level, low, max(low, high - gap * (len(heights) - 1))) + steps
    return moved


def apart(
    fig: go.Figure,
    heights: np.ndarray,
    gap: float,
    within: tuple[float, float] = (-np.inf, np.inf),
) -> np.ndarray:
    """Heights of labels moved so that all are `gap` apart, or more if the text is enlarged.

    They stay `within` the ends of an axis if these are given: plotly hides labels beyond them.
    """
    return spread(heights, gap * scale_of(fig), within)


def scale_of(fig: go.Figure) -> float:
    """How many times as large as usual the text and lines of a figure are: see `enlarge`."""
    return _meta(fig, "scale") or 1.0


def _meta(fig: go.Figure, name: str) -> Any:
    """What a figure has noted about itself in plotly's ``layout.meta``, or None."""
    return (fig.layout.meta or {}).get(name)


def enlarge(fig: go.Figure, scale: float) -> bool:
    """Draw text, margins, lines and marks `scale` times as large as usual; whether any changed.

    All grow alike: the latent f₀ stays the thickest line, and edges of width 0 stay invisible.
    """
    by = scale / scale_of(fig)
    if by == 1.0:
        return False
    with fig.batch_update():
        layout = fig.layout
        for side in ("l", "r", "t", "b"):
            usual = layout.template.layout.margin[side]
            layout.margin[side] = by * (
                usual if layout.margin[side] is None else layout.margin[side]
            )
        layout.font.size = scale * style.TEXT_SIZE
        layout.xaxis.title.font.size = layout.yaxis.title.font.size = scale * style.TEXT_SIZE
        for trace in fig.data:
            for path in ("line.width", "marker.size", "textfont.size", "error_y.thickness",
                         "colorbar.thickness"):  # fmt: skip
                if path in trace and isinstance(trace[path], int | float):
                    trace[path] *= by
        layout.meta = {**(layout.meta or {}), "scale": scale}
    return True


def table(figures: Mapping[str, go.Figure]) -> str:
    """Everything that is drawn, as CSV with one row for each point or cell of a heat map."""
    parts = [
        _points(trace).assign(figure=name, trace=trace.name)
        for name, figure in figures.items()
        for trace in figure.data
        if trace.visible is not False
    ]
    columns = ["figure", "trace", "x", "y", "z"]
    frame = pd.concat(parts, ignore_index=True).reindex(columns=columns)
    for name in columns:  # names of classes and columns come from anywhere: never a formula
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].map(lambda x: cell_text(x) if isinstance(x, str) else x)
    text = io.StringIO()
    frame.to_csv(text, index=False)
    return text.getvalue()


def html_tables(figures: Mapping[str, go.Figure]) -> str:
    """The drawn numbers as one HTML table for each figure, for reading; long traces are thinned."""
    tables = []
    for name, figure in figures.items():
        parts = [
            _points(trace).assign(trace=trace.name)
            for trace in figure.data
            if trace.visible is not False and trace.hoverinfo != "skip"
        ]
        parts = [part.iloc[:: -(-len(part) // MAX_TABLE_ROWS)] for part in parts if len(part)]
        if parts:
            columns = [key for key in ("trace", "x", "y", "z") if any(key in p for p in parts)]
            table = pd.concat(parts, ignore_index=True)[columns]
            text = table.to_html(index=False, na_rep="", float_format="{:.4g}".format, border=0)
            caption = f"<caption>{name.replace('_', ' ')}</caption>"
            text = text.replace("<thead>", f"{caption}<thead>").replace("<th>", "<th scope='col'>")
            tables.append(text)
    return f"<div class='etgp-tables' tabindex='0'>{''.join(tables)}</div>"


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


def dots(name: str, colour: str | None, size: float, hover: str, **look: Any) -> go.Scatter:
    """Markers without a line, and as yet without points; `look` is more of plotly's ``marker``."""
    marker = {"color": colour, "size": size, **look}
    hover = f"{hover}<extra></extra>"
    return go.Scatter(x=[], y=[], name=name, mode="markers", marker=marker, hovertemplate=hover)


def held_points() -> go.Scatter:
    """Rings around the points that a line is held at, still without points; see `DRAGGED`."""
    look = {"symbol": "circle", "line": {"color": style.PALETTE[3], "width": 3}}
    hover = "held here: drag it, double-click to let go<br>%{x:.2f}, %{y:.2f}"
    return dots("held points", "rgba(255, 255, 255, 0.9)", 11, hover, **look)


def band(x: np.ndarray, limits: np.ndarray, name: str, colour: str, **look: Any) -> go.Scatter:
    """The region between two curves ``[2, N]``, as one closed outline."""
    shape = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    fill = {"fill": "toself", "fillcolor": translucent(colour)}
    return go.Scatter(x=there_and_back(x), y=outline(limits), name=name, **shape, **fill, **look)


def there_and_back(x: np.ndarray) -> np.ndarray:
    """The x of a `band` ``[2N]``: from left to right and back."""
    return np.concatenate([x, x[::-1]])


def outline(limits: np.ndarray) -> np.ndarray:
    """The y of a `band` ``[2N]``: along the lower curve and back along the upper one."""
    return np.concatenate([limits[0], limits[1][::-1]])


def translucent(colour: str, opacity: float = 0.18) -> str:
    """A colour (#rrggbb or rgb(…)) with an opacity, as rgba(…)."""
    if colour.startswith("rgb("):
        return colour.replace("rgb(", "rgba(").replace(")", f", {opacity})")
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def label(text: str, colour: str, **place: Any) -> dict[str, Any]:
    """A direct label to the right of a line's end."""
    look = {"align": "left", "xanchor": "left", "xshift": 6, "showarrow": False}
    return {"text": text, "font": {"color": colour}, **look, **place}


def names(x: float, texts: list[str], colours: list[str]) -> go.Scatter:
    """Direct labels to the right of several lines' ends, as one trace.

    Its heights `y` move with the lines in one step; plotly takes a millisecond for each `label`.
    """
    place = {"x": np.full(len(texts), x), "y": np.zeros(len(texts)), "cliponaxis": False}
    look = {"textposition": "middle right", "textfont": {"color": colours}, "hoverinfo": "skip"}
    return go.Scatter(text=texts, mode="text", name="names of the lines", **place, **look)


def heading(bold: str = "", plain: str = "") -> dict[str, Any]:
    """The title of a panel above its upper left corner; `plain` text on a line below."""
    place = {"xref": "paper", "yref": "paper", "x": 0.0, "y": 1.0, "yshift": 4}
    look = {"xanchor": "left", "yanchor": "bottom", "showarrow": False, "align": "left"}
    return {"text": heading_text(bold, plain), **place, **look}


def plain_text(text: str) -> str:
    """A text from anywhere, such as the name of a class, as plotly shows it letter by letter.

    Without this, plotly takes tags in it for layout and links.
    """
    return html.escape(printable_text(text), quote=False)


def heading_text(bold: str, plain: str = "") -> str:
    """The text of a `heading`."""
    return f"<b>{bold}</b>" + (f"<br>{plain}" if plain else "")


def heatmap(name: str, hover: str, **look: Any) -> go.Heatmap:
    """A heat map in colours centred on zero, still empty."""
    look = {"colorscale": style.DIVERGING, "colorbar": style.COLOUR_BAR, "z": [[0.0]], **look}
    return go.Heatmap(name=name, hovertemplate=f"{hover}<extra></extra>", **look)


def rows_of_classes(rows: Iterable[int], columns: Iterable[int], **names: Any) -> dict[str, Any]:
    """plotly's ``meta`` of a matrix with as many rows for each class: its cells light classes up.

    ``names`` and ``colours`` of all classes, if given, let a legend list them: see panels.js.
    """
    return {"rows": list(rows), "columns": list(columns), **names}


def rounded(z: np.ndarray) -> np.ndarray:
    """A matrix rounded to four digits of its largest entry: matrices reach the browser as text."""
    scale = np.max(np.abs(z)) or 1.0
    return np.round(z, int(np.clip(4 - np.ceil(np.log10(scale)), 0, 12)))


def colour_limit(trace: Any, z: np.ndarray, refit: bool = False) -> float:
    """The upper end of a colour scale centred on zero.

    It stays as it is, unless the matrix leaves it or needs less than a quarter of it.
    """
    top, held = float(np.max(np.abs(z))) or 1.0, trace.zmax
    fig = trace.parent
    if held is not None and fig is not None and (_meta(fig, "shares_colours") or _is_held(fig)):
        return float(held)
    return top if refit or held is None or not held / 4 <= top <= held else held


def share_colours(figures: Sequence[go.Figure], refit: bool = False) -> None:
    """Give heat maps that are compared one colour scale, centred on zero."""
    tops = [float(np.max(np.abs(np.asarray(fig.data[0].z, dtype=float)))) for fig in figures]
    top, held = max(tops) or 1.0, figures[0].data[0].zmax
    is_shared = all(_meta(fig, "shares_colours") for fig in figures)
    if is_shared and _is_held(figures[0]):
        return
    if not refit and is_shared and held / 4 <= top <= held:
        return
    for fig in figures:
        fig.layout.meta = {**(fig.layout.meta or {}), "shares_colours": True}
        move(fig, {"zmin": [-top], "zmax": [top]})


def coloured(text: str, colour: str) -> str:
    """Text in a line's colour, for headings that serve as legends."""
    return f"<span style='color:{colour}'>{text}</span>"


def signed(number: float, digits: int = 2) -> str:
    """A number with a proper minus sign."""
    return f"{number:.{digits}f}".replace("-", "−")


def mark(at: float, **look: Any) -> dict[str, Any]:
    """A dotted vertical line at a marked input."""
    look = {"color": style.NEUTRAL, "width": 1, "dash": "dot", **look}
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": at, "x1": at, "line": look}


def marked(at: float) -> dict[str, Any]:
    """Layout changes that move the first `mark`."""
    return {"shapes[0].x0": at, "shapes[0].x1": at}
