"""The paper's two sets of images, read straight from the archives in which they are published.

Nothing is unpacked to the disk. Every member that is read must have the size and kind that the
published format gives it, so that an archive made to explode is refused. No checksum of these
archives is known here; the zip format's own (CRC-32) shows damage.
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
from etgp_viz.datasets.fetch import find
from etgp_viz.datasets.prepare import Table
from etgp_viz.datasets.record import Card
from etgp_viz.datasets.sources import CHARACTERFONT, DEVANGARI
from etgp_viz.datasets.tables import CC_BY

__all__ = ["characterfont", "devangari"]

UNCHECKED = "The archive's checksum is not known here: its format and CRC-32 are checked instead."

IMAGE_BYTES = 100_000  # most that a PNG of 32 × 32 grey pixels may take
IMAGES = 200_000  # most that an archive may hold

FONT_BYTES = 500_000_000  # most that one font's table may take
FONTS = 1000
PIXELS = [f"r{row}c{column}" for row in range(20) for column in range(20)]


def devangari(progress: bool = True) -> Table:
    """Handwritten Devanagari characters and digits, 32 × 32 pixels, 46 classes.

    Members of the archive are ``…/Train/<class>/<name>.png`` and ``…/Test/<class>/<name>.png``.
    """
    from PIL import Image

    def pixels(content: bytes) -> np.ndarray:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
            if image.size != (32, 32):  # known from the header, before anything is decoded
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
    class_names = sorted(set(folders), key=_by_number)
    number = {name: c for c, name in enumerate(class_names)}
    return Table(
        name="devangari",
        X=np.stack(images) / 255.0,
        labels=np.array([number[folder] for folder in folders]),
        class_names=class_names,
        numeric=np.full(1024, False),
        test=np.flatnonzero(is_test),
        image_shape=(32, 32),
        card=Card(
            "Devanagari handwritten characters",
            source=DEVANGARI.page,
            licence=CC_BY,
            preparation="pixels divided by 255, to [0, 1]",
            defects=(
                UNCHECKED,
                "Published as 78 200 images to train on and 13 800 to test on, 46 classes.",
            ),
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
        card=Card(
            "Character font images",
            source=CHARACTERFONT.page,
            licence=CC_BY,
            preparation="pixels divided by 255, to [0, 1]; character, style and size left out",
            defects=(
                UNCHECKED,
                "Fonts differ much in their number of rows, and the paper does not say which rows "
                "it used.",
            ),
        ),
    )


def _members(
    path: Path, suffix: str, most_bytes: int, most: int, progress: bool
) -> Iterator[tuple[str, bytes]]:
    """Name and content of the archive's members with a suffix, in the order of their names."""

    def contents() -> Iterator[tuple[str, bytes]]:
        with zipfile.ZipFile(path) as archive:
            names = sorted(n for n in archive.namelist() if n.lower().endswith(suffix))
            if not 1 <= len(names) <= most:
                raise ValueError(f"{path}: expected 1 to {most} *{suffix} in it, got {len(names)}")
            for name in tqdm(names, desc=path.stem, unit=suffix[1:], disable=not progress):
                with archive.open(name) as member:
                    content = member.read(most_bytes + 1)
                if len(content) > most_bytes:
                    raise ValueError(f"{path}: expected at most {most_bytes} bytes in {name}")
                yield name, content

    try:
        yield from contents()
    # A compression that zipfile does not know is a NotImplementedError, a password a RuntimeError.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(
            f"{path}: expected a complete zip archive, got: {error}. Take it away "
            "and it is fetched again"
        ) from error


def _by_number(name: str) -> tuple[object, ...]:
    """Sort "character_2_kha" before "character_10_yna"."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))
