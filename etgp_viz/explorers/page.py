"""What all explorers share on screen: a title, a sentence, controls and, beside them, pictures."""

from collections.abc import Iterable
from typing import Any

import anywidget
import ipywidgets as widgets
import plotly.graph_objects as go

from etgp_viz import style


def live(figure: go.Figure) -> go.FigureWidget:
    """A complete figure as a widget that follows the width of its place."""
    widget = go.FigureWidget(figure)
    widget._config = {"responsive": True, "displayModeBar": False}
    return widget


class _Fit(anywidget.AnyWidget):
    """An invisible line that brings the style and tells plotly when its page changes size.

    plotly listens to the window only, and would miss a side bar that opens, a dragged border and
    the moment at which a new figure gets its place.
    """

    _css = style.CSS
    _esm = """
    export default {
      render({ el }) {
        let page = null;
        const observer = new ResizeObserver(() => {
          if (!page && (page = el.closest(".etgp-viz"))) observer.observe(page);
          window.dispatchEvent(new Event("resize"));
        });
        observer.observe(el);
        return () => observer.disconnect();
      },
    };
    """


class Page:
    """A page of an explorer; `say` puts another sentence under the title."""

    def __init__(
        self, title: str, controls: Iterable[widgets.Widget], figures: Iterable[go.FigureWidget]
    ) -> None:
        heading = widgets.HTML(f"<h3>{title}</h3>")
        self._sentence = widgets.HTML()
        # In a narrow window the pictures go below the controls.
        left = widgets.VBox(list(controls), layout={"flex": "0 1 300px"})
        right = widgets.VBox(list(figures), layout={"flex": "1 1 480px", "min_width": "0"})
        both = widgets.HBox([left, right], layout={"flex_flow": "row wrap"})
        self._view = widgets.VBox([heading, self._sentence, both, _Fit()])
        self._view.add_class("etgp-viz")

    @property
    def sentence(self) -> str:
        """The sentence that stands there now, as HTML."""
        return self._sentence.value

    def say(self, sentence: str) -> None:
        """Put a sentence under the title; screen readers read it out."""
        self._sentence.value = f"<p role='status'>{sentence}</p>"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self._view._repr_mimebundle_(**options)
