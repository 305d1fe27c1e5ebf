"""The picture that a saved notebook shows in place of an explorer whose kernel is gone.

A notebook keeps the outputs of its cells, but not the widgets behind them. So an explorer has a
second output: its print figure and its sentence as plain HTML, renewed when nothing has moved for a
while. A live explorer hides it (page.css); without one, it hides Jupyter's error message.
"""

import asyncio
import base64
import html
import io
from collections.abc import Callable
from typing import Any, ClassVar

# Seconds without a change of any explorer before a picture is drawn, which takes some tenths of a
# second in which the kernel answers nobody; and seconds between two pictures.
IDLE, BETWEEN = 3.0, 0.5
RESOLUTION = 80  # dots per inch
REVIVE = "This is a picture of an explorer. Run the cell above it to bring it to life."
# In JupyterLab, Notebook 7 and Voilà: an output before this one that has no live explorer.
_HIDE_ERROR = (
    ".jp-OutputArea-child:has(+ .jp-OutputArea-child .etgp-still):not(:has(.etgp-viz))"
    " { display: none; }"
)


MIME_TYPES = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}


def file_content(figure: Callable[[], Any], kind: str) -> bytes:
    """A print figure as the content of a file, of a kind in `MIME_TYPES`."""
    if kind not in MIME_TYPES:
        raise ValueError(f"kind: expected one of {', '.join(MIME_TYPES)}, got {kind!r}")
    content = io.BytesIO()
    figure().savefig(content, format=kind, dpi=200, bbox_inches="tight")
    return content.getvalue()


class SavedPicture:
    """An output of a notebook cell that follows an explorer at a distance.

    Parameters
    ----------
    figure : makes the print figure
    words : returns title and sentence
    """

    _not_before: ClassVar[float] = 0.0  # in the time of the event loop, for all explorers

    def __init__(self, figure: Callable[[], Any], words: Callable[[], tuple[str, str]]) -> None:
        self._figure, self._words = figure, words
        self._handle: Any = None
        self._timer: asyncio.TimerHandle | None = None

    def show(self) -> None:
        """Add the output to the cell that is running; its picture follows."""
        from IPython.display import display

        self._handle = display(self.bundle(b""), raw=True, display_id=True)
        self.renew_later()

    def renew_later(self) -> None:
        """Draw the picture again when nothing has changed for a while, if there is an output."""
        if self._handle is None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a script, or a thread: nobody will reopen this
            return
        if self._timer is not None:
            self._timer.cancel()
        SavedPicture._not_before = loop.time() + IDLE
        self._timer = loop.call_later(IDLE, self._renew, loop)

    def _renew(self, loop: asyncio.AbstractEventLoop) -> None:
        if (wait := SavedPicture._not_before - loop.time()) > 0.0:  # another explorer has moved
            self._timer = loop.call_later(wait, self._renew, loop)
            return
        content, words = io.BytesIO(), self._words()
        try:
            figure = self._figure()
            figure.savefig(content, format="png", dpi=RESOLUTION, bbox_inches="tight")
        except Exception:  # words without a picture are better than an error that nobody asked for
            content = io.BytesIO()
        if self._words() != words:  # something has moved meanwhile: words and picture must agree
            self.renew_later()
            return
        self._handle.display(self.bundle(content.getvalue()), raw=True, update=True)
        SavedPicture._not_before = loop.time() + BETWEEN

    def bundle(self, picture: bytes) -> dict[str, str]:
        """The output as Jupyter stores it: HTML, and its sentence as plain text."""
        title, sentence = self._words()
        source = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
        alt = html.escape(sentence, quote=True)
        image = f"<img alt='{alt}' src='{source}' style='max-width: 100%'>" if picture else ""
        page = (
            f"<div class='etgp-still'><style>{_HIDE_ERROR}</style><h3>{html.escape(title)}</h3>"
            f"<p>{html.escape(sentence)}</p>{image}<p><em>{REVIVE}</em></p></div>"
        )
        return {"text/html": page, "text/plain": f"{title}. {sentence} {REVIVE}"}
