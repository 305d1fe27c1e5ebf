"""Links to the state of an explorer: what is shared, and what is made of links from anybody."""

import base64
import io

import pytest
from PIL import Image

from etgp_viz.explorers import PosteriorExplorer, sharing
from etgp_viz.explorers.controls import Profile

KIND = PosteriorExplorer
SERVER = "https://hub.example.org/hub/user-redirect/lab/tree/a%20b.ipynb"


def share(explorer, page):
    """The labelled texts on the page and its words, after *share* was pressed in a browser."""
    sent = []
    explorer._page.frame.send = lambda content, buffers=None: sent.append(content)
    try:
        explorer._on_message({"do": "share", "page": page})
    finally:
        del explorer._page.frame.send
    left, *rest = explorer._page._note.children[:-1]
    *boxes, words = left.children
    picture = rest[0].value if rest else ""
    return {box.description: box for box in boxes}, words.value, picture, sent[-1]["copy"]


def test_a_link_to_a_server_brings_the_state_back(explorer):
    explorer.set(lengthscale=0.3, observations=(1.0, 2.0))
    explorer._page.frame.cell = "abc-1"
    boxes, words, picture, copied = share(explorer, SERVER)
    link = boxes["link"].value
    assert copied == link
    assert link.startswith(f"{SERVER}?etgp=PosteriorExplorer.")
    assert link.endswith(".abc-1")
    assert "The link is copied" in words
    assert "data:image/svg+xml" in picture
    state = explorer.state
    assert PosteriorExplorer.from_link(link).state == state
    explorer.reset()
    explorer._on_message({"open": link.split(".")[-2]})
    assert explorer.state == state
    assert "link that you opened" in explorer._page._note.children[0].value
    explorer.reset()
    boxes["short text"].value = link  # pasted
    assert explorer.state == state


def test_a_link_to_this_computer_is_not_sent_to_others(explorer):
    boxes, words, _, copied = share(explorer, "http://127.0.0.1:8888/lab/tree/a.ipynb")
    assert copied == boxes["short text"].value == explorer.link()
    assert "works only on this computer" in words


def test_without_an_address_there_is_the_text_alone(explorer):
    boxes, _, picture, copied = share(explorer, "")
    assert list(boxes) == ["short text"]
    assert copied == explorer.link()
    assert picture


def test_a_long_state_has_no_qr_code(explorer):
    explorer.set(observations=tuple(0.025 * k for k in range(80)))
    _, words, picture, _ = share(explorer, SERVER)
    assert picture == ""
    assert "too long for a QR code" in words


def test_a_qr_code_has_black_modules_on_white_with_a_quiet_zone(explorer):
    import segno

    content = io.BytesIO()
    segno.make_qr(explorer.link(), error="l").save(content, kind="png", border=3)
    pixels = Image.open(content).convert("L")
    assert pixels.getpixel((2, 2)) == 255
    assert pixels.getpixel((3, 3)) == 0  # the finder pattern begins
    assert "alt='QR code" in sharing.qr_code(explorer.link())


def code_of(text):
    return base64.urlsafe_b64encode(text if isinstance(text, bytes) else text.encode()).decode()


BAD_CODES = [
    "", "!", "a", "%", None, 7, "A" * 20000, code_of(b"\xff\xfe"), code_of("[" * 3000),
    code_of('{"explorer":"FlowExplorer"}'), code_of('{"explorer":"PosteriorExplorer","noise":99}'),
    code_of('{"explorer":"PosteriorExplorer","noise":NaN}'),
    code_of('{"explorer":"PosteriorExplorer","<script>":1}'),
]  # fmt: skip


@pytest.mark.parametrize("code", BAD_CODES, ids=range(len(BAD_CODES)))
def test_a_bad_address_says_so_and_changes_nothing(explorer, code):
    before = explorer.state
    explorer._on_message({"open": code})
    assert "role='alert'" in explorer._page.message
    assert "<script>" not in explorer._page.message
    assert explorer.state == before


@pytest.mark.parametrize(
    "link",
    ["https://x", "https://x?etgp=", "https://x?etgp=PosteriorExplorer", "http://[x?etgp=a.b",
     "https://x?etgp=a.%00", "https://x?" + "&a=1" * 30, "https://x?etgp=" + "a" * 20000],
)  # fmt: skip
def test_an_address_without_a_state_is_refused(explorer, link):
    before = explorer.state
    with pytest.raises(ValueError, match=r"^link: .{10,}"):
        explorer.from_link(link)
    assert explorer.state == before


def test_a_link_has_no_rounding_errors():
    knots = Profile("shift", -3.0, 3.0).check([1.7000000000000002] * 5)
    assert knots == (1.7,) * 5
