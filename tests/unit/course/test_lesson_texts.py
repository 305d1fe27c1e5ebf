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
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)

# What codespell takes for other words: a data set of the paper, {G}aussian in BibTeX, λ as Unicode
# spells it, and beginnings of words that a rubric looks for.
IGNORED = "devangari,aussian,lamda,increas,determin"


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
    """Touch → warm-up → predict → play → derive → code → check → reflect → recap.

    Other sections stand between the last of these. The first lesson has nothing to look back on.
    """
    (path,) = (path for path in NOTEBOOKS if path.stem.startswith(number))
    sections = [words.partition(":")[0] for level, words in headings(prose(path)) if level == 2]
    opening = ["Touch"] if number == "01" else ["Touch", "Warm-up"]
    assert sections[: len(opening) + 3] == [*opening, "Predict", "Play", "Derive"]
    assert 0 < sections.index("Code") < sections.index("Check") < sections.index("Reflect")
    assert sections[-3:] == ["Reflect", "Recap", "References"]


@pytest.mark.parametrize("path", NOTEBOOKS[:-1], ids=lambda path: path.stem)
def test_a_lesson_opens_with_a_question(path):
    """The first screen asks something in bold before it explains anything."""
    opening = "# " + prose(path).partition("# ")[2]
    (question, *_) = re.findall(r"\*\*(.+?)\*\*", opening, flags=re.DOTALL)
    assert "?" in question
    assert len(opening.partition(question)[0]) < 120


@pytest.mark.parametrize("number", LESSONS)
def test_play_and_reflect_have_folded_answers(number):
    """In the student's copy, below the questions and before the next section."""
    (path,) = (path for path in NOTEBOOKS if path.stem.startswith(number))
    text = prose(path)
    for name in ("Play", "Reflect"):
        section = re.split(r"(?m)^## ", text.partition(f"\n## {name}\n")[2])[0]
        assert section.count("<details>") == section.count("</details>") >= 1, name


def test_few_asides_on_the_paper():
    asides = [
        path.stem for path in NOTEBOOKS for _ in re.findall(r"Note on the paper", prose(path))
    ]
    assert len(asides) <= 3, asides


# Notation -----------------------------------------------------------------------------------


#: how prose writes what formulas spell out
GREEK = {
    "f_0": "f₀",
    r"\rho": "ρ",
    r"\sigma": "σ",
    r"\gamma": "γ",
    r"\theta": "θ",
    r"\mu": "µ",
    r"\ell": "ℓ",
    r"\Phi": "Φ",
}


def symbols(path: Path) -> dict[str, str]:
    """Symbol → meaning in the table of a lesson."""
    (table,) = re.findall(r"\| symbol \| meaning \|\n\|[-|]+\|\n((?:\|.*\|\n)+)", prose(path))
    rows = (line.strip("| ").split(" | ") for line in table.splitlines())
    return {symbol.strip(): meaning.strip() for symbol, meaning in rows}


@pytest.mark.parametrize("path", NOTEBOOKS[:-1], ids=lambda path: path.stem)
def test_a_lesson_has_a_table_of_its_symbols(path):
    found = symbols(path)
    assert len(found) >= 6
    text = prose(path)
    for symbol in found:
        first = re.split(r"[,(\[^]", symbol.strip("$"))[0].strip()
        ways = {first, GREEK.get(first, first)}
        assert sum(text.count(way) for way in ways) >= 2, f"{symbol} is only in the table"


#: letters of formulas that need no line in a table: indices, e, π, O(…) and the d of dx
COMMON = {*"ijnedO", r"\pi"}
SPELT_OUT = re.compile(
    r"\\(?:alpha|beta|[gG]amma|[dD]elta|(?:var)?epsilon|zeta|eta|[tT]heta|kappa|[lL]ambda|mu|nu|xi"
    r"|pi|rho|[sS]igma|tau|[pP]hi|chi|[pP]si|[oO]mega|ell)(?![A-Za-z])"
)


def letters(formula: str) -> set[str]:
    """The Latin and Greek letters that stand for something in a formula, without words."""
    formula = re.sub(
        r"\\(text|mathrm|operatorname|begin|end)\s*(\{[^{}]*\}|[A-Za-z])", " ", formula
    )
    latin = re.findall("[A-Za-z]", re.sub(r"\\[A-Za-z]+", " ", formula))
    return {*SPELT_OUT.findall(formula), *latin}


def unexplained(text: str, table: str) -> set[str]:
    """Letters of the formulas of a text that are not in its table of symbols."""
    formulas = re.findall(r"\$\$(.*?)\$\$|\$([^$\n]+)\$", text, flags=re.DOTALL)
    used = set().union(*(letters(display or inline) for display, inline in formulas))
    return used - letters(table) - COMMON


@pytest.mark.parametrize("path", NOTEBOOKS[:-1], ids=lambda path: path.stem)
def test_every_letter_of_a_formula_is_in_the_table(path):
    text = prose(path).partition("## References")[0].partition("</details>")[2]
    assert unexplained(text, " ".join(symbols(path))) == set()


def test_a_letter_without_a_line_is_seen():
    assert unexplained(r"Let $\alpha = \mathrm{diag}(a) w$ be …", "$a$ $w_q$") == {r"\alpha"}
    assert unexplained(r"$$x \sim \mathcal N(0, \sigma)$$", r"$x$ $N$ $\sigma^2$") == set()


def test_a_symbol_has_one_meaning_in_the_whole_course():
    meanings: dict[str, set[str]] = {}
    for path in NOTEBOOKS[:-1]:
        for symbol, meaning in symbols(path).items():
            meanings.setdefault(symbol, set()).add(meaning)
    assert {symbol: found for symbol, found in meanings.items() if len(found) > 1} == {}
    assert len(meanings) > 40
    everything = [meaning for found in meanings.values() for meaning in found]
    assert len(set(everything)) == len(everything), "two symbols for one thing"


# What the old lessons used one letter for several things for.
COLLISIONS = {
    "$p_0": "a density and a polynomial",
    "A = K_{xz}": "a projection, besides the stacked scales",
    "A = \\mathrm{diag}": "a diagonal matrix, besides the stacked scales",
    "H^1": "an inverse, besides the number of hidden units",
    "K(x, x": "a kernel, besides a kernel matrix",
    "S random": "draws, besides the covariance of q",
    "S draws": "draws, besides the covariance of q",
    "C = flow_records": "a covariance, besides the number of classes",
    "f_0(x) = v": "a known value, besides the variance of q",
    "N(m, s^2)": "a deviation, besides a slope",
    "L\\,w": "whitened values, besides weights of a quadrature",
    "swell(f, b)": "a rate, besides a shift",
    "G(f)": "what goes into a flow, besides the warped process",
    "f_L": "the last of several latents, besides a Cholesky factor",
    "L = 1": "the number of latents, besides a Cholesky factor",
}


def test_collisions_stay_away():
    texts = {path.stem: path.read_text(encoding="utf-8") for path in NOTEBOOKS}
    found = [(name, text) for text in COLLISIONS for name in texts if text in texts[name]]
    assert found == []


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
        # Formulas are not words.
        words = re.sub(r"\$\$.*?\$\$|\$[^$]+\$", "", prose(path), flags=re.DOTALL)
        texts[-1].write_text(words, encoding="utf-8")
    modules = sorted((ROOT / "etgp_viz").rglob("*.py"))
    assert misspelt(*texts, *modules) == ""


def test_a_slip_is_seen(tmp_path):
    (tmp_path / "slip.md").write_text("We recieve a Gaussian.")
    assert "recieve ==> receive" in misspelt(tmp_path / "slip.md")
