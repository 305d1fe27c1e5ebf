"""The published data sets: each function reads one as a `Table` with a `Card`.

The sizes, duplicates and outliers on the cards were counted in the files whose checksums are here.
The repository's archives have no known checksum; the files taken out of them do.

The two sets of images are read straight from their archives, and nothing is unpacked to the disk.
Every member must have the size and kind of the published format, so that an archive made to exhaust
memory is refused. The zip format's own checksum (CRC-32) shows damage.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from etgp_viz.checks import check_choice, check_count, fail
from etgp_viz.datasets.dataset import Card, Table
from etgp_viz.datasets.fetch import UCI, Source, find, uci

__all__ = [
    "absenteeism",
    "avila",
    "characterfont",
    "devangari",
    "digits",
    "iris",
    "leaves100",
    "vowel",
    "wine",
]

VOWEL = uci(
    152,
    "vowel/vowel-context.data",
    5_000_000,
    "connectionist+bench+vowel+recognition+deterding+data.zip",
    "undocumented/connectionist-bench/vowel/vowel-context.data",
    "2e95c7be6c5800583b16d15ad36fd21f9681030b69bf96aa6aeab6f4f2f0726d",
    "fbcdc7a38893d512842e74ad385e07bf0d192ca7089263faf5326c8c72205c27",
)
ABSENTEEISM = uci(
    445,
    "absenteeism/Absenteeism_at_work.csv",
    5_000_000,
    "absenteeism+at+work.zip",
    "00445/Absenteeism_at_work_AAA.zip",
    "8033a31831f8359ba6b6bff667deebd5958511bd5f008983ef45dc7bfabfcb5b",
    "9ac8ca051babc7aa7415a9d5f7b45945b0cd1140d967e3afc862221d1ce264b8",
)
AVILA_TRAIN = uci(
    459,
    "avila/avila-tr.txt",
    20_000_000,
    "avila.zip",
    "00459/avila.zip",
    "493332af20f750a6b0f7b0c581dd2236bb68a8ace52b412aea1c9c82b2076357",
    "26fb56316d157ad5860bdc64642879b68addbf1553b4b7155dbbf459b036d044",
)
AVILA_TEST = replace(
    AVILA_TRAIN,
    file="avila/avila-ts.txt",
    sha256="0ec227d595dd8d8dc6804a7139c8b6d6e00e21aaea0d9052085057aa98c3e589",
    fields_sha256="207ddd99523c17664bc46863934bcf7405ffb3827252bf90f3b6fb3ab06fea03",
)
LEAVES = uci(
    241,
    "leaves100/data_Mar_64.txt",
    200_000_000,  # the archive holds the leaves' images too
    "one+hundred+plant+species+leaves+data+set.zip",
    "00241/100%20leaves%20plant%20species.zip",
    "d474bdc920250745942312eb8ccf745ff4b665a59952f073572cd73cb253ba59",
    "9f870d0f08160082e81eea734f45287df938398879e28b31f50effc3ffa64056",
)

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

CC_BY = "CC BY 4.0 as far as known; confirm at the source before redistributing"
STANDARDISED = "standardised with the training rows' means and deviations"

# The words whose vowels were spoken, in the order of the codes hid, hId, hEd, hAd, hYd, had, hOd,
# hod, hUd, hud, hed of the published file.
VOWELS = ["heed", "hid", "head", "had", "hud", "hard", "hod", "hoard", "hood", "who'd", "heard"]

TARGETS = {"hours": "Absenteeism time in hours", "reason": "Reason for absence"}
CATEGORIES = ("Reason for absence", "Month of absence", "Day of the week", "Seasons", "Education")
YES_NO = ("Disciplinary failure", "Social drinker", "Social smoker")
REASONS = {
    0: "none given",
    22: "follow-up",
    23: "medical consultation",
    24: "blood donation",
    25: "laboratory examination",
    26: "unjustified",
    27: "physiotherapy",
    28: "dental consultation",
}

AVILA_BROKEN = [6619, 9402]  # rows of the training file, from 0
AVILA_FEATURES = (
    *("intercolumnar distance", "upper margin", "lower margin", "exploitation", "row number"),
    *("modular ratio", "interlinear spacing", "weight", "peak number"),
    "modular ratio / interlinear spacing",
)

UNCHECKED = "The archive has no published checksum: its format and CRC-32 are checked instead."

IMAGE_BYTES = 100_000  # upper limit for a PNG with 32 × 32 grey pixels
IMAGES = 200_000  # upper limit in an archive

FONT_BYTES = 500_000_000  # upper limit for the table of one font
FONTS = 1000  # upper limit in an archive
PIXELS = [f"r{row}c{column}" for row in range(20) for column in range(20)]


def _card(title: str, source: Source, preparation: str, *defects: str) -> Card:
    """The card of a data set from the UCI repository."""
    return Card(title, source.page, CC_BY, preparation, defects)


def vowel() -> Table:
    """Eleven English vowels by 15 speakers; eight to train on, seven others to test on."""
    text = find(VOWEL).read_text(encoding="ascii")
    table = np.array(re.split(r"[\s,]+", text.strip()), dtype=float).reshape(990, 14)
    return Table(
        name="vowel",
        X=table[:, 3:13],
        labels=table[:, 13].astype(int),
        class_names=VOWELS,
        feature_names=[f"log area ratio {d}" for d in range(10)],
        test=np.flatnonzero(table[:, 0] == 1),
        groups=table[:, 1],
        card=_card(
            "Vowel recognition (Deterding)",
            VOWEL,
            f"{STANDARDISED}; speaker and sex left out",
            "Trained on eight speakers and tested on seven others: a shift between the two.",
            "Each speaker says each vowel six times, so that rows come in sixes that are much "
            "alike. Validation rows are therefore whole speakers, as the test rows are.",
            "Copies with commas and with spaces between the numbers are in use; both pass.",
        ),
    )


def absenteeism(target: str = "hours") -> Table:
    """Absences from work at a courier company in Brazil, 2007 to 2010.

    The target is ``"hours"`` of absence (19 values) or its ``"reason"`` (28); the paper does not
    say which of the two it used.
    """
    column = TARGETS[check_choice(target, "target", tuple(TARGETS))]
    frame = _read(ABSENTEEISM).rename(columns=str.strip)
    values, labels = np.unique(frame[column], return_inverse=True)
    if target == "hours":
        class_names = [f"{hours} h" for hours in values]
    else:
        class_names = [REASONS.get(code, f"ICD chapter {code}") for code in values]
    columns: dict[str, np.ndarray] = {}
    numeric = []
    for name in frame.columns.drop(["ID", column]):
        if name in CATEGORIES:
            for value in np.unique(frame[name]):
                columns[f"{name} = {value}"] = (frame[name] == value).to_numpy(float)
                numeric.append(False)
        else:
            columns[name] = frame[name].to_numpy(float)
            numeric.append(name not in YES_NO)
    return Table(
        name="absenteeism",
        X=np.column_stack(list(columns.values())),
        labels=labels,
        class_names=class_names,
        feature_names=list(columns),
        numeric=np.array(numeric),
        card=_card(
            f"Absenteeism at work, by {target}",
            ABSENTEEISM,
            "reason, month, weekday, season and education one-hot; yes/no columns as "
            f"0 and 1; the rest {STANDARDISED}; the employee's ID left out",
            "34 of the 740 rows repeat another row exactly; copies may fall on both sides of "
            "a split.",
            "Rows of one employee are on both sides of a split, and age, weight and height "
            "identify employees.",
            "Three rows have month 0; 43 have reason 0, all with 0 hours.",
            "Many classes are rare: three values of the hours (7, 48, 104) and three reasons "
            "(2, 3, 17) occur once, and reason 20 not at all.",
            "The paper does not name its target.",
        ),
    )


def avila() -> Table:
    """Twelve copyists of a medieval Bible, told apart by the layout of their pages."""
    import pandas as pd

    parts = [_read(source, header=None) for source in (AVILA_TRAIN, AVILA_TEST)]
    parts[0] = parts[0].drop(index=AVILA_BROKEN)
    frame = pd.concat(parts)
    class_names, labels = np.unique(frame[10].to_numpy(str), return_inverse=True)
    return Table(
        name="avila",
        X=frame[list(range(10))].to_numpy(float),
        labels=labels,
        class_names=[f"copyist {letter}" for letter in class_names],
        feature_names=AVILA_FEATURES,
        test=np.arange(len(parts[0]), len(frame)),
        card=_card(
            "Avila Bible",
            AVILA_TRAIN,
            f"two broken training rows dropped; {STANDARDISED}",
            "Training rows 6619 and 9402 (from 0) are broken, with values up to 386 and 43 "
            "published standard deviations out. They are dropped.",
            "Copyist B has five rows to train on and five to test on; copyist A has 41 %.",
            "Features pile up at their lowest value, as if it stood for a missing one: 626 of "
            "the training rows share one lower margin, 307 one intercolumnar distance.",
            "Some rows of both files lie up to 20 standard deviations out in the upper margin.",
        ),
    )


def leaves100() -> Table:
    """A hundred species of leaves, 16 of each, by the histogram of their margins."""
    frame = _read(LEAVES, header=None)
    class_names, labels = np.unique(frame[0].to_numpy(str), return_inverse=True)
    return Table(
        name="leaves100",
        X=frame.drop(columns=0).to_numpy(float),
        labels=labels,
        class_names=class_names.tolist(),
        feature_names=[f"margin {d}" for d in range(64)],
        card=_card(
            "One-hundred plant species leaves, margin features",
            LEAVES,
            STANDARDISED,
            "Not one of the paper's data sets.",
            "Sixteen rows of a class in all: twelve to train on, four to test on.",
            "Features are coarse, in steps of 1/512, and one takes only ten values; a few rows "
            "lie 10 to 19 standard deviations out in one of them.",
        ),
    )


def devangari(progress: bool = True) -> Table:
    """Handwritten Devanagari characters and digits, 32 × 32 pixels, 46 classes.

    Members of the archive are ``…/Train/<class>/<name>.png`` and ``…/Test/<class>/<name>.png``.
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
        numeric=False,
        test=np.flatnonzero(is_test),
        image_shape=(32, 32),
        card=_card(
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
    400 columns of pixels ``r0c0`` … ``r19c19``. ``rows_per_font`` rows are taken from each, evenly
    spread over its table; None for all, which needs several gigabytes of memory.
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
        numeric=False,
        image_shape=(20, 20),
        card=_card(
            "Character font images",
            CHARACTERFONT,
            "pixels divided by 255, to [0, 1]; character, style and size left out",
            UNCHECKED,
            "Some fonts have many more rows than others, and the paper does not say which rows "
            "it used.",
        ),
    )


def digits() -> Table:
    """Handwritten digits as images of 8 × 8 pixels."""
    return _from_scikit_learn(
        "digits",
        "Optical recognition of handwritten digits, the test part",
        uci_number=80,
        class_names=[str(digit) for digit in range(10)],
        defects=(
            "Three pixels (0, 32 and 39) are 0 in every image.",
            "Digits of one writer may be on both sides of a split: the writers are not recorded.",
        ),
    )


def wine() -> Table:
    """Three cultivars of wine by 13 chemical measurements."""
    few_rows = "178 rows in all: a test split has about 45, so that one row counts 0.02."
    cultivars = [f"cultivar {c}" for c in range(3)]
    return _from_scikit_learn("wine", "Wine recognition", 109, cultivars, (few_rows,))


def iris() -> Table:
    """Three species of iris by the lengths and widths of sepals and petals."""
    few_rows = "150 rows in all: a test split has about 38, so that one row counts 0.03."
    species = ["setosa", "versicolor", "virginica"]
    return _from_scikit_learn("iris", "Iris", 53, species, ("One row occurs twice.", few_rows))


def _from_scikit_learn(
    name: str, title: str, uci_number: int, class_names: list[str], defects: tuple[str, ...]
) -> Table:
    """A data set that comes with scikit-learn; images are not standardised."""
    import sklearn.datasets  # slow to import

    data = getattr(sklearn.datasets, f"load_{name}")()
    is_image = hasattr(data, "images")
    return Table(
        name=name,
        X=data.data / 16.0 if is_image else data.data,
        labels=data.target,
        class_names=class_names,
        feature_names=data.feature_names,
        numeric=not is_image,
        card=Card(
            title,
            source=f"scikit-learn; {UCI}/dataset/{uci_number}",
            licence=CC_BY,
            preparation="pixels divided by 16, to [0, 1]" if is_image else STANDARDISED,
            defects=defects,
        ),
        image_shape=data.images.shape[1:] if is_image else None,
    )


def _read(source: Source, **options: Any) -> Any:
    """A pandas frame of a table, with whichever separator this copy of it has."""
    import pandas as pd

    path = find(source)
    with open(path, encoding="utf-8") as file:
        first = file.readline()
    separator = max(",;\t", key=first.count)
    return pd.read_csv(path, sep=separator if separator in first else r"\s+", **options)


def _members(
    path: Path, suffix: str, max_bytes: int, max_members: int, progress: bool
) -> Iterator[tuple[str, bytes]]:
    """Name and content of the archive's members with a suffix, in the order of their names."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(n for n in archive.namelist() if n.lower().endswith(suffix))
            if not 1 <= len(names) <= max_members:
                fail(str(path), f"1 to {max_members} *{suffix} in it", str(len(names)))
            for name in tqdm(names, desc=path.stem, unit=suffix[1:], disable=not progress):
                with archive.open(name) as member:
                    content = member.read(max_bytes + 1)
                if len(content) > max_bytes:
                    raise ValueError(f"{path}: expected at most {max_bytes} bytes in {name}")
                yield name, content
    # A compression that zipfile does not know is a NotImplementedError, a password a RuntimeError.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(
            f"{path}: expected a complete zip archive, got: {error}. Remove it, and it will be "
            "downloaded again"
        ) from error


def _natural_order(name: str) -> tuple[object, ...]:
    """Sort key that puts "character_2_kha" before "character_10_yna"."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))
