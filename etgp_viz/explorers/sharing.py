"""Share the state of an explorer: as a link that opens its notebook, as a short text, as a QR code.

A link is the address of the notebook with one more parameter, ``etgp=KIND.CODE.CELL``: the class of
the explorer, its state as `fields.write_link` writes it, in base64, and the id of the cell, which
may be missing. The browser that opens it hands CODE to the explorer of that kind: see frame.js.
Nobody can know who wrote a link, so what it says is checked like any other text.
"""

import base64
import binascii
import html
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import ipywidgets as widgets

from etgp_viz.explorers import fields
from etgp_viz.explorers.page import Page

PARAMETER = "etgp"
MAX_ADDRESS_LENGTH = 4 * fields.MAX_LINK_LENGTH
MAX_QR_LENGTH = 500  # characters; with more, the squares are too small for a telephone
OWN_COMPUTER = ("localhost", "127.0.0.1", "::1")


def address(page: str, kind: str, text: str, cell: str = "") -> str:
    """The address that opens the notebook at `page` with an explorer in the state of `text`.

    >>> address("http://hub/lab/tree/a.ipynb", "FlowExplorer", '{"at":1}', "c1")
    'http://hub/lab/tree/a.ipynb?etgp=FlowExplorer.eyJhdCI6MX0.c1'
    """
    code = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    return f"{page}?{PARAMETER}={kind}.{code}{'.' * bool(cell)}{cell}"


def decode(code: str) -> str:
    """The short text in the CODE of a link; a ValueError if there is none.

    >>> decode("eyJhdCI6MX0")
    '{"at":1}'
    """
    if not isinstance(code, str) or len(code) > MAX_ADDRESS_LENGTH:
        raise ValueError(f"link: expected a code of at most {MAX_ADDRESS_LENGTH} characters")
    try:
        return base64.b64decode(code + "=" * (-len(code) % 4), b"-_", validate=True).decode()
    except (binascii.Error, ValueError):  # not base64, or not UTF-8
        raise ValueError("link: it is damaged; copy the whole link") from None


def text_of(link: Any) -> Any:
    """The short text in a link; anything but an address is returned as it is."""
    if not isinstance(link, str) or not link.startswith(("http://", "https://")):
        return link
    if len(link) > MAX_ADDRESS_LENGTH:
        raise ValueError(f"link: expected at most {MAX_ADDRESS_LENGTH} characters, got {len(link)}")
    try:
        values = parse_qs(urlsplit(link).query, max_num_fields=20).get(PARAMETER, [""])
    except ValueError as error:
        raise ValueError(f"link: not an address ({error})") from None
    _, _, rest = values[0].partition(".")
    if not rest:
        raise ValueError("link: this address does not contain the state of an explorer")
    return decode(rest.partition(".")[0])


def qr_code(text: str) -> str:
    """A QR code of a text as an HTML image, or "" if the text is too long for one."""
    import segno  # only when needed

    if len(text) > MAX_QR_LENGTH:
        return ""
    picture = segno.make_qr(text, error="l").svg_data_uri(scale=4, border=3, light="#fff")
    return f"<img class='etgp-qr' alt='QR code of this state' src='{html.escape(picture)}'>"


class FromLink:
    """`from_link`: called on a class it makes an explorer, called on an explorer it moves it."""

    def __get__(self, explorer: Any, kind: Any) -> Callable[[str], Any]:
        def from_link(text: str) -> Any:
            """The explorer in the state of a link; a bad link raises a ValueError, nothing moves.

            Parameters
            ----------
            text : what `link` returned, or the address that *share* shows
            """
            values = fields.read_link(kind.__name__, kind.State, text_of(text))
            if explorer is None:
                return kind(**values)
            explorer.set(**values)
            return explorer

        return from_link


class Sharing:
    """What *share* shows on the page of an explorer, and what is opened there.

    Attributes
    ----------
    page : the address of the notebook, or "" where there is none that others could open
    """

    def __init__(self, explorer: Any, page: Page) -> None:
        self._explorer, self._page, self.page = explorer, page, ""

    def show(self) -> None:
        """Show the state as a link, a short text and a QR code, and copy what others can open."""
        kind, text = type(self._explorer).__name__, self._explorer.link()
        link = address(self.page, kind, text, self._page.frame.cell) if self.page else ""
        is_local = urlsplit(self.page).hostname in OWN_COMPUTER
        copied = link if link and not is_local else text
        if copied == link:
            words = "The link is copied. It opens this notebook; run its cells to see this state."
        elif is_local:
            words = "The short text is copied, because the link works only on this computer."
        else:
            words = "The short text is copied."
        words += (
            f" In code: <code>{kind}.from_link('…')</code>. To see what somebody else sees, paste "
            "their link or text here and press Enter."
        )
        picture = qr_code(copied)
        words += "" if picture else " It is too long for a QR code."
        boxes = [self._box(*pair) for pair in (("link", link), ("short text", text)) if pair[1]]
        left = widgets.VBox([*boxes, widgets.HTML(f"<p>{words}</p>")])
        self._page.show_note(left, *([widgets.HTML(picture)] if picture else []))
        self._page.frame.copy(copied)

    def open_link(self, link: str) -> None:
        """Take the state of a link or a short text; the page says what is wrong with a bad one."""
        try:
            self._explorer.from_link(link)
        except ValueError as error:
            self._page.warn(str(error))

    def open_code(self, code: Any) -> None:
        """Take the state that the address of the page asks for."""
        try:
            self._explorer.from_link(decode(code))
        except ValueError as error:
            self._page.warn(str(error))
        else:
            self._explorer._fit_axes()
            words = "<p>This is the state in the link that you opened.</p>"
            self._page.show_note(widgets.HTML(words))

    def _box(self, label: str, text: str) -> widgets.Text:
        box = widgets.Text(
            text, description=label, continuous_update=False, layout={"width": "100%"},
            **{fields.TOOLTIP: "Copy this, or paste somebody else's and press Enter"},
        )  # fmt: skip
        box.observe(lambda change: self.open_link(change.new), "value")
        return box
