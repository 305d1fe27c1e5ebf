"""The two sets of images, on small archives of the published format made here."""

import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from etgp_viz import datasets
from etgp_viz.datasets.tables import CHARACTERFONT, DEVANGARI, PIXELS

RNG = np.random.default_rng(0)
CLASSES = ("character_1_ka", "character_2_kha", "character_10_yna", "digit_0")


def png(pixels):
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "PNG")
    return content.getvalue()


def pixels(size=32):
    return RNG.integers(256, size=(size, size), dtype=np.uint8)


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Write an archive of these members to where a source is looked for."""
    monkeypatch.setenv("ETGP_VIZ_DATA", str(tmp_path))

    def write(source, members):
        path = tmp_path / source.file
        path.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return path

    return write


def characters(train=3, test=2):
    """Arrays by their names in an archive of Devanagari characters."""
    return {
        f"DevanagariHandwrittenCharacterDataset/{split}/{name}/{row}.png": pixels()
        for split, count in (("Train", train), ("Test", test))
        for name in CLASSES
        for row in range(count)
    }


def test_devangari(put):
    arrays = characters()
    put(DEVANGARI, {"readme.txt": "x"} | {name: png(a) for name, a in arrays.items()})
    data = datasets.load("devangari", validation=0.3, progress=False)
    assert data.class_names == CLASSES  # 2 before 10
    assert (data.image_shape, data.num_inputs) == ((32, 32), 1024)
    assert [len(data.rows[s]) for s in ("train", "validation", "test")] == [8, 4, 8]
    assert set(data.counts()["test"].values()) == {2}
    for c, name in enumerate(CLASSES):
        own = [a.ravel() / 255 for path, a in arrays.items() if f"Test/{name}/" in path]
        X, Y = data.test
        np.testing.assert_array_equal(X[Y[:, 0] == c], own)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (
            "Train/digit_0/9.png",
            png(pixels(64)),
            r"9\.png: expected 32 × 32 pixels, got \(64, 64\)",
        ),
        ("Train/digit_0/9.png", b"not an image", r"9\.png: cannot identify image file"),
        ("Extra/digit_0/9.png", png(pixels()), r"expected Train/… or Test/…, got Extra/digit_0"),
        ("Train/digit_0/9.png", b"0" * 200_000, "expected at most 100000 bytes in .*9.png"),
    ],
)
def test_what_is_not_a_character_is_refused(put, name, content, says):
    put(DEVANGARI, {n: png(a) for n, a in characters().items()} | {name: content})
    with pytest.raises(ValueError, match=says):
        datasets.load("devangari", progress=False)


def test_a_damaged_archive_is_told(put):
    path = put(DEVANGARI, {n: png(a) for n, a in characters().items()})
    content = bytearray(path.read_bytes())
    content[200:230] = bytes(30)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"CharacterDataset\.zip: expected a complete zip archive"):
        datasets.load("devangari", progress=False)


def test_an_archive_without_images_is_refused(put):
    put(DEVANGARI, {"readme.txt": "x"})
    with pytest.raises(ValueError, match=r"expected 1 to 200000 \*\.png in it, got 0"):
        datasets.load("devangari", progress=False)


def font(name, rows, value=None):
    """A table of one font as it is published, and its pixels."""
    about = "font,fontVariant,m_label,strength,italic,orientation,m_top,m_left"
    grey = RNG.integers(256, size=(rows, 400))
    if value is not None:
        grey[0, 0] = value
    header = f"{about},originalH,originalW,h,w,{','.join(PIXELS)}"
    lines = [
        f"{name},{name} MT,65,0.4,0,0.0,36,21,51,33,20,20,{','.join(map(str, g))}" for g in grey
    ]
    return "\n".join([header, *lines]), grey


def test_characterfont(put):
    tables = {name: font(name, rows) for name, rows in (("ARIAL", 12), ("BASKERVILLE", 40))}
    put(CHARACTERFONT, {f"{name}.csv": text for name, (text, _) in tables.items()})
    data = datasets.load("characterfont", progress=False)
    assert data.class_names == ("ARIAL", "BASKERVILLE")
    assert (data.X.shape, data.image_shape) == ((52, 400), (20, 20))
    for c, (_, grey) in enumerate(tables.values()):
        np.testing.assert_array_equal(data.X[data.Y[:, 0] == c], grey / 255)
    assert len(data.rows["test"]) == 13
    few = datasets.load("characterfont", rows_per_font=4, progress=False)
    first, last = tables["BASKERVILLE"][1][[0, -1]]
    np.testing.assert_array_equal(few.X[few.Y[:, 0] == 1][[0, 3]], np.stack([first, last]) / 255)
    assert len(few.X) == 8


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (font("ARIAL", 3, value=256)[0], r"ARIAL\.csv: expected pixels in 0\.\.255"),
        ("font,r0c0\nARIAL,1", r"ARIAL\.csv: Usecols do not match columns"),
        ("", r"ARIAL\.csv: No columns to parse"),
    ],
)
def test_what_is_not_a_font_is_refused(put, text, says):
    put(CHARACTERFONT, {"ARIAL.csv": text, "BOOK.csv": font("BOOK", 3)[0]})
    with pytest.raises(ValueError, match=says):
        datasets.load("characterfont", progress=False)
