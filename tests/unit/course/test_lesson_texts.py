"""The words of the lessons: headings in order, links that lead somewhere, spelling."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from etgp_viz.course.checking import LESSONS

ROOT = Path(__file__).parents[3]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)

# What codespell takes for other words: a data set of the paper, {G}aussian in BibTeX, and λ as
# Unicode spells it.
IGNORED = "devangari,aussian,lamda"


def prose(path: Path) -> str:
    """The Markdown of a notebook, or of a file of Markdown."""
    if path.suffix != ".ipynb":
        return path.read_text(encoding="utf-8")
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def headings(text: str) -> list[tuple[int, str]]:
    """Level and words of each heading, outside of code."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [(len(marks), words) for marks, words in re.findall(r"(?m)^(#{1,6}) (.+)$", text)]


def out_of_order(text: str) -> list[str]:
    """Headings that are a second title, or that skip a level."""
    found, above = [], 0
    for level, words in headings(text):
        if level > above + 1 or (level == 1 and above):
            found.append(words)
        above = level
    return found


@pytest.mark.parametrize("path", [*NOTEBOOKS, *DOCUMENTS], ids=lambda path: path.name)
def test_headings_are_in_order(path):
    assert headings(prose(path))[0][0] == 1
    assert out_of_order(prose(path)) == []


def test_disorder_is_seen():
    assert out_of_order("# A\n\n## B\n\n### C\n\n## D") == []
    assert out_of_order("# A\n\n### B") == ["B"]
    assert out_of_order("## A\n\n# B") == ["A", "B"]
    assert out_of_order("# A\n\n```\n### B\n```") == []


@pytest.mark.parametrize("number", LESSONS)
def test_a_lesson_goes_from_a_guess_to_a_thought(number):
    """Predict → play → derive → code → reflect, and other sections between the last of these."""
    (path,) = (path for path in NOTEBOOKS if path.stem.startswith(number))
    sections = [words.partition(":")[0] for level, words in headings(prose(path)) if level == 2]
    assert sections[:3] == ["Predict", "Play", "Derive"]
    assert "Code" in sections[3:]
    assert sections[-2:] == ["Reflect", "References"]


# Links --------------------------------------------------------------------------------------


def anchor(words: str) -> str:
    """How a heading is linked to on a page of a repository."""
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


def dead_links(text: str, path: Path) -> list[str]:
    """Relative links and pictures that lead nowhere; links to the network are not followed."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    found = re.findall(r"\]\(([^)\s]+)[^)]*\)", text) + re.findall(r"(?:src|href)=\"([^\"]+)", text)
    dead = []
    for target in found:
        if re.match(r"https?://|mailto:|attachment:", target):
            continue
        name, _, part = target.partition("#")
        place = path.parent / name if name else path
        if not place.exists():
            dead.append(target)
        elif part and place.suffix in (".md", ".ipynb"):
            page = text if place == path else prose(place)
            # JupyterLab keeps capitals and writes hyphens for spaces.
            names = {anchor(words) for _, words in headings(page)}
            names |= {words.replace(" ", "-") for _, words in headings(page)}
            dead += [] if part in names else [target]
    return dead


@pytest.mark.parametrize("path", [*NOTEBOOKS, *DOCUMENTS], ids=lambda path: path.name)
def test_links_and_pictures_exist(path):
    assert dead_links(prose(path), path) == []


def test_a_dead_link_is_seen():
    path = ROOT / "README.md"
    text = "# A b\n\n[x](#a-b) [x](nowhere.md) ![x](docs/none.png) [x](#b) [x](https://example.org)"
    assert dead_links(text, path) == ["nowhere.md", "docs/none.png", "#b"]


def test_every_lesson_is_reachable_from_the_first_page():
    start = prose(NOTEBOOKS[0])
    assert [path.stem for path in NOTEBOOKS if f"`{path.stem}`" not in start] == []


# Spelling -----------------------------------------------------------------------------------


def misspelt(*paths: Path) -> str:
    """What codespell says."""
    command = [sys.executable, "-m", "codespell_lib", "--ignore-words-list", IGNORED]
    done = subprocess.run([*command, *map(str, paths)], capture_output=True, text=True)
    return done.stdout + done.stderr


def test_spelling(tmp_path):
    texts = []
    for path in (*NOTEBOOKS, *DOCUMENTS):
        texts.append(tmp_path / f"{path.stem}.md")
        # Formulas are no words.
        texts[-1].write_text(re.sub(r"\$[^$]+\$", "", prose(path)), encoding="utf-8")
    modules = sorted((ROOT / "etgp_viz").rglob("*.py"))
    assert misspelt(*texts, *modules) == ""


def test_a_slip_is_seen(tmp_path):
    (tmp_path / "slip.md").write_text("We recieve a Gaussian.")
    assert "recieve ==> receive" in misspelt(tmp_path / "slip.md")
