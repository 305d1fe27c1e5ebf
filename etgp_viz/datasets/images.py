"""The paper's two sets of images, read straight from the archives in which they are published.

Nothing is unpacked to the disk. Every member must have the size and kind of the published format,
so that an archive made to exhaust memory is refused. The archives have no published checksum; the
zip format's own (CRC-32) shows damage.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np
from tqdm.auto import tqdm

from etgp_viz.checks import check_count
from etgp_viz.datasets.dataset import Table
from etgp_viz.datasets.fetch import find, uci
from etgp_viz.datasets.tables import uci_card

__all__ = ["characterfont", "devangari"]

DEVANGARI = uci(
    389,
    "devangari/DevanagariHandwrittenCharacterDataset.zip",
    300_000_000,
    "devanagari+handwritten+character+dataset.zip",
    "00389/DevanagariHandwrittenCharacterDataset.zip",
)
CHARACTERFONT = uci(
    417, "characterfont/fonts.zip", 1_000_000_000, "character+font+images.zip", "00417/fonts.zip"
)

UNCHECKED = "The archive has no published checksum: its format and CRC-32 are checked instead."

IMAGE_BYTES = 100_000  # upper limit for a PNG with 32 × 32 grey pixels
IMAGES = 200_000  # upper limit in an archive

FONT_BYTES = 500_000_000  # upper limit for the table of one font
FONTS = 1000  # upper limit in an archive
PIXELS = [f"r{row}c{column}" for row in range(20) for column in range(20)]


def devangari(progress: bool = True) -> Table:
    """Handwritten Devanagari characters and digits, 32 × 32 pixels, 46 classes.

    Members of the archive are ``…/Train/<class>/<name>.png`` and ``…/Test/<class>/<name>.png``.

    Parameters
    ----------
    progress : show a bar
    """
    from PIL import Image

    def pixels(content: bytes) -> np.ndarray:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            if image.size != (32, 32):  # from the header, before anything is decoded
                raise ValueError(f"expected 32 × 32 pixels, got {image.size}")
            return np.asarray(image.convert("L"), dtype=np.uint8).ravel()

    images, folders, is_test = [], [], []
    path = find(DEVANGARI, progress=progress)
    for member, content in _members(path, ".png", IMAGE_BYTES, IMAGES, progress):
        parts = PurePosixPath(member).parts
        if len(parts) < 3 or parts[-3] not in ("Train", "Test"):
            raise ValueError(f"{path}: expected Train/… or Test/…, got {member}")
        try:
            images.append(pixels(content))
        except (OSError, ValueError) as error:
            raise ValueError(f"{path}: {member}: {error}") from error
        folders.append(parts[-2])
        is_test.append(parts[-3] == "Test")
    class_names = sorted(set(folders), key=_natural_order)
    number = {name: c for c, name in enumerate(class_names)}
    return Table(
        name="devangari",
        X=np.stack(images) / 255.0,
        labels=np.array([number[folder] for folder in folders]),
        class_names=class_names,
        numeric=np.full(1024, False),
        test=np.flatnonzero(is_test),
        image_shape=(32, 32),
        card=uci_card(
            "Devanagari handwritten characters",
            DEVANGARI,
            "pixels divided by 255, to [0, 1]",
            UNCHECKED,
            "Published as 78 200 images to train on and 13 800 to test on, 46 classes.",
        ),
    )


def characterfont(rows_per_font: int | None = None, progress: bool = True) -> Table:
    """Characters of 153 fonts, 20 × 20 pixels; the font is the class.

    Members of the archive are one table for each font, ``<font>.csv``, with a column ``font`` and
    400 columns of pixels ``r0c0`` … ``r19c19``.

    Parameters
    ----------
    rows_per_font : rows taken from each font, evenly spread over its table; None for all, which
        needs several gigabytes of memory
    progress : show a bar
    """
    import pandas as pd

    if rows_per_font is not None:
        check_count(rows_per_font, "rows_per_font", minimum=2)
    tables, fonts = [], []
    path = find(CHARACTERFONT, progress=progress)
    for member, content in _members(path, ".csv", FONT_BYTES, FONTS, progress):
        try:
            frame = pd.read_csv(io.BytesIO(content), usecols=["font", *PIXELS])
            pixels = frame[PIXELS].to_numpy()
            if pixels.dtype.kind not in "iu" or pixels.min() < 0 or pixels.max() > 255:
                raise ValueError("expected pixels in 0..255")
        except ValueError as error:
            raise ValueError(f"{path}: {member}: {error}") from error
        count = min(len(frame), rows_per_font or len(frame))
        keep = np.linspace(0, len(frame) - 1, count).round().astype(int)
        tables.append(pixels[keep].astype(np.uint8))
        fonts.append(frame["font"].to_numpy(str)[keep])
    class_names, labels = np.unique(np.concatenate(fonts), return_inverse=True)
    return Table(
        name="characterfont",
        X=np.concatenate(tables) / 255.0,
        labels=labels,
        class_names=class_names.tolist(),
        feature_names=PIXELS,
        numeric=np.full(400, False),
        image_shape=(20, 20),
        card=uci_card(
            "Character font images",
            CHARACTERFONT,
            "pixels divided by 255, to [0, 1]; character, style and size left out",
            UNCHECKED,
            "Some fonts have many more rows than others, and the paper does not say which rows "
            "it used.",
        ),
    )


def _members(
    path: Path, suffix: str, max_bytes: int, max_members: int, progress: bool
) -> Iterator[tuple[str, bytes]]:
    """Name and content of the archive's members with a suffix, in the order of their names."""

    def contents() -> Iterator[tuple[str, bytes]]:
        with zipfile.ZipFile(path) as archive:
            names = sorted(n for n in archive.namelist() if n.lower().endswith(suffix))
            if not 1 <= len(names) <= max_members:
                expected = f"expected 1 to {max_members} *{suffix} in it"
                raise ValueError(f"{path}: {expected}, got {len(names)}")
            for name in tqdm(names, desc=path.stem, unit=suffix[1:], disable=not progress):
                with archive.open(name) as member:
                    content = member.read(max_bytes + 1)
                if len(content) > max_bytes:
                    raise ValueError(f"{path}: expected at most {max_bytes} bytes in {name}")
                yield name, content

    try:
        yield from contents()
    # A compression that zipfile does not know is a NotImplementedError, a password a RuntimeError.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(
            f"{path}: expected a complete zip archive, got: {error}. Remove it, and it will be "
            "downloaded again"
        ) from error


def _natural_order(name: str) -> tuple[object, ...]:
    """Sort key that puts "character_2_kha" before "character_10_yna"."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))
