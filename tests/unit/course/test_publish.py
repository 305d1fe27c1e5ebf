"""The course in its forms: what students get, what the instructor gets, pages and slides."""

import json
import re
import zipfile
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import nbformat
import numpy as np
import plotly.graph_objects as go
import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from etgp_viz.cli import main
from etgp_viz.course.checking import LESSONS, RIGHT, lesson
from etgp_viz.course.publish import notebooks, stills
from etgp_viz.course.publish.build import build, short_name
from etgp_viz.course.publish.notebooks import budget, execute
from etgp_viz.course.publish.pages import LINES, Piece, cut, handout, markdown, slides
from tools.colab_cells import colab_cells

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
each_lesson = pytest.mark.parametrize("number", LESSONS)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    list(build(NOTEBOOKS, folder, handouts=False))
    return folder


def notebook_of(folder: Path, number: str) -> nbformat.NotebookNode:
    (path,) = folder.glob(f"{number}_*.ipynb")
    return nbformat.read(path, as_version=4)


# Students and instructor --------------------------------------------------------------------


def leaks(notebook: nbformat.NotebookNode, number: str) -> list[str]:
    """Lines of solutions that stand in a notebook and not in a stub, and explanations.

    What is imported is no secret.
    """
    text = json.dumps(notebook, ensure_ascii=False)
    lines = {line.strip() for cell in notebook.cells for line in cell.source.splitlines()}
    shipped = notebook_of(NOTEBOOKS, number).cells
    found = []
    for each in lesson(number).exercises:
        # What the student has read in cells above, or is given in the stub, is no secret.
        above = takewhile(lambda cell, each=each: each.check_line not in cell.source, shipped)
        known = {line.strip() for cell in above for line in cell.source.splitlines()}
        known |= {line.strip() for line in each.stub.splitlines()}
        secret = {line.strip() for line in each.solution.splitlines()} - known - {""}
        found += [line for line in secret & lines if not line.startswith(("import ", "from "))]
        explained = json.dumps(each.explanation, ensure_ascii=False).strip('"')
        found += [each.explanation] if explained in text else []
    return found


@each_lesson
def test_students_get_no_solution(built, number):
    notebook = notebook_of(built / "student", number)
    assert leaks(notebook, number) == []
    assert notebooks.MARK not in json.dumps(notebook)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    sources, shipped = (
        [cell.source for cell in each.cells if not notebooks.is_for_colab(cell)]
        for each in (notebook, notebook_of(NOTEBOOKS, number))
    )
    links_to_nobody = r"\[([^]]+)\]\(https://github\.com/OWNER/[^)]+\)"  # they become their text
    assert sources == [re.sub(links_to_nobody, r"\1", source) for source in shipped]
    assert "OWNER" not in json.dumps(notebook)


@each_lesson
def test_the_instructor_gets_all(built, number):
    notebook = notebook_of(built / "instructor", number)
    nbformat.validate(notebook)
    text = "\n".join(cell.source for cell in notebook.cells)
    plain = re.sub(r"\\([*_`$<])", r"\1", text)
    assert len(leaks(notebook, number)) > len(lesson(number).exercises)
    for each in lesson(number).exercises:
        assert each.solution in text
        assert each.check_line in text
        texts = [each.explanation, *each.hints, *(item.message for item in each.mistakes.values())]
        assert [words for words in texts if words not in plain] == []
    for note in lesson(number).teaching.values():
        assert note in text
    identifiers = [cell.id for cell in notebook.cells]
    assert len(set(identifiers)) == len(identifiers)


@each_lesson
def test_the_instructor_s_cells_are_right(built, number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = notebook_of(built / "instructor", number)
    for cell in notebook.cells:
        if "exercise" in cell.metadata.get("tags", ()):
            names: dict = {}
            code = cell.source.replace("\ncheck(", "\nreply = check(")
            exec(f"{lesson(number).setup}\n{code}", names)
            assert names["reply"].outcome == RIGHT


def test_a_leak_is_seen():
    notebook = notebook_of(NOTEBOOKS, "06")
    exercise = lesson("06").exercises[1]
    assert leaks(notebook, "06") == []
    notebook.cells.append(new_code_cell("    " + exercise.solution.splitlines()[-2].strip()))
    notebook.cells.append(new_markdown_cell(f"So: {exercise.explanation}"))
    assert len(leaks(notebook, "06")) == 2


def test_notes_stand_under_their_headings():
    plain = notebook_of(NOTEBOOKS, "06")
    taught = replace(lesson("06"), teaching={"": "At the top.", "Derive": "Ask *first*."})
    sources = [cell.source for cell in notebooks.instructor(plain, taught).cells]
    at = sources.index("# 06 · Cost versus classes")
    assert f"**{notebooks.MARK}: teaching.**\n\nAt the top." in sources[at + 1]
    at = sources.index("## Derive")
    assert "Ask *first*." in sources[at + 1]
    assert sources[at + 2].startswith("What does one training step need")
    with pytest.raises(ValueError, match="expected headings of lesson 06, got 'Derivation'"):
        notebooks.instructor(plain, replace(taught, teaching={"Derivation": "Lost."}))


def test_what_is_built(built):
    with zipfile.ZipFile(built / "course.zip") as archive:
        names = archive.namelist()
    shipped = sorted(path.name for path in NOTEBOOKS.glob("*.ipynb"))
    for form in ("student", "instructor"):
        assert sorted(path.name for path in (built / form).glob("*.ipynb")) == shipped
        assert {f"{form}/{name}" for name in shipped} <= set(names)


def test_some_lessons_and_other_files(tmp_path):
    (tmp_path / "mine.txt").write_text("stays")
    (tmp_path / "student").mkdir()
    (tmp_path / "student" / "old.ipynb").write_text("goes")
    sentences = list(build(NOTEBOOKS, tmp_path, ["06"], handouts=False))
    assert [path.name[:2] for path in (tmp_path / "student").iterdir()] == ["06"]
    assert (tmp_path / "mine.txt").read_text() == "stays"
    assert sentences[0].startswith("1 notebook for students")
    with pytest.raises(ValueError, match=r"lessons: expected some of 00, .*got '99'"):
        list(build(NOTEBOOKS, tmp_path, ["99"], handouts=False))


def test_names_and_budgets():
    assert short_name(Path("06_cost_versus_classes.ipynb")) == "06"
    assert short_name(Path("explorers.ipynb")) == "explorers"
    assert (budget("06_cost"), budget("07_real"), budget("04_one"), budget("explorers")) == (
        *(180, 180, 60, 60),
    )


# Stills -------------------------------------------------------------------------------------


def test_changes_lead_from_one_figure_to_another():
    def drawn(y, title, extra):
        figure = go.Figure(
            [go.Scatter(x=np.arange(3.0), y=y), go.Scatter(y=np.ones(2))],
            {"title": {"text": title}, "annotations": [{"text": "same"}, {"text": title}], **extra},
        )
        return stills.figure_still(figure)

    old = drawn(np.array([1.0, 2, 3]), "a", {"showlegend": True})
    new = drawn(np.array([3.0, 2, 1]), "b", {"height": 300})
    found = stills.changes(old, new)
    assert sorted(map(tuple, (path for path, _ in found)), key=str) == [
        ("data", 0, "y"),
        ("layout", "annotations", 1, "text"),
        ("layout", "height"),
        ("layout", "showlegend"),
        ("layout", "title", "text"),
    ]
    for path, value in found:  # what stills.js does
        place = old
        for key in path[:-1]:
            place = place[key]
        if value is None:
            del place[path[-1]]
        else:
            place[path[-1]] = value
    assert old == new
    assert stills.changes(new, new) == []


def test_a_still_is_small_json_that_can_be_zoomed():
    axis = {"fixedrange": True}
    figure = go.Figure(
        go.Heatmap(z=np.random.default_rng(0).normal(size=(40, 30))),
        {"xaxis": axis, "yaxis2": axis, "template": {"layout": {"xaxis": axis}}, "dragmode": False},
    )
    still = stills.figure_still(figure)
    text = json.dumps(still)
    assert len(text) < 6 * 40 * 30
    packed = still["data"][0]["z"]
    assert packed["shape"] == "40, 30"
    layout = still["layout"]
    assert layout["dragmode"] == "zoom"
    free = (layout["xaxis"], layout["yaxis2"], layout["template"]["layout"]["xaxis"])
    assert not any(each["fixedrange"] for each in free)


# Pages --------------------------------------------------------------------------------------


def test_every_formula_of_the_notebooks_becomes_mathml():
    for path in NOTEBOOKS.glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "markdown" and not notebooks.is_for_colab(cell):
                made = "".join(piece.html for piece in markdown(cell.source, NOTEBOOKS))
                assert made.count("<math") >= cell.source.count("$$") // 2, (path.stem, cell.id)


@pytest.fixture
def executed():
    """A small notebook as a kernel leaves it."""
    figure = stills.figure_still(go.Figure(go.Scatter(y=np.arange(4.0), name="line")))
    moved = stills.figure_still(go.Figure(go.Scatter(y=np.arange(4.0) ** 2, name="line")))
    frames = [
        {"label": "1", "title": "Flat", "words": "</script> is harmless.", "changes": {}},
        {"label": "2", "title": "Bent", "words": "Now bent.",
         "changes": {"paths": stills.changes(figure, moved)}},
    ]  # fmt: skip
    explorer = {
        "slider": "scale a", "start": 0, "frames": frames, "stories": [["A story", "Look & see."]],
        "figures": [["paths", figure], ["more", figure], ["third", figure]], "wide": ["paths"],
        "tabs": {"paths": "Draws", "more": "More", "third": "More"},
    }  # fmt: skip

    def code(source, *outputs, tags=()):
        return new_code_cell(source, outputs=list(outputs), metadata={"tags": list(tags)})

    def shown(**data):
        return new_output("display_data", data)

    return new_notebook(
        cells=[
            new_markdown_cell("# 99 · Small\n\nWith $K_{zz}$ and [more](04_one_latent.ipynb#x)."),
            code("import numpy as np", tags=["setup"]),
            code("Explorer()", shown(**{stills.EXPLORER: explorer})),
            code("figure", shown(**{stills.FIGURE: figure})),
            code("x = ...\n\ncheck('99.1', x)", shown(**{stills.PERSONAL: {}}), tags=["exercise"]),
            code("progress()", shown(**{stills.PERSONAL: {}})),
            code("print('<b>')", new_output("stream", name="stdout", text="<b>\n"),
                 new_output("stream", name="stdout", text="and on\n"),
                 new_output("stream", name="stderr", text="a warning")),
            code("widget", shown(**{"application/vnd.jupyter.widget-view+json": {}})),
        ]
    )  # fmt: skip


def test_a_handout_holds_everything(executed):
    page = handout(executed, NOTEBOOKS)
    body = page.partition("<main>")[2].partition("</main>")[0]
    assert "<math><semantics><msub><mi>K" in body.replace("<mrow>", "")
    assert 'href="04.html#x"' in body
    assert len(re.findall(r"class='plot[ ']", body)) == 4
    assert re.findall(r"<p class='tab'>(\w+)</p><div class='[\w ]+' data-name='(\w+)'", body) == [
        ("Draws", "paths"), ("More", "more"),
    ]  # fmt: skip
    assert "id='slider-1'" in body
    assert "Look &amp; see." in body
    words = re.sub(r"<[^>]+>", "", body)
    assert "check(" in words
    assert "progress()" not in words
    assert "<pre class='printed'>&lt;b&gt;\nand on</pre>" in body  # printed in two goes
    assert "a warning" not in body
    assert "works only in the notebook" in body
    content = re.findall(r"<script type='application/json'>(.*?)</script>", body)
    assert [len(json.loads(each)["figures"]) for each in content] == [3, 1]


def test_a_page_has_no_cells_for_colab(executed):
    plain = handout(executed, NOTEBOOKS), slides(executed, NOTEBOOKS)
    executed.cells[1:1] = colab_cells("99_small.ipynb")
    assert (handout(executed, NOTEBOOKS), slides(executed, NOTEBOOKS)) == plain


def test_no_copy_leads_to_an_owner_who_is_not_there(executed):
    executed.cells[1:1] = links = colab_cells("99_small.ipynb")
    for cell in links:
        cell.source = cell.source.replace("/OWNER/", "/somebody/")
    assert sum(map(notebooks.is_for_colab, notebooks.student(executed).cells)) == len(links) == 2
    for cell in links:
        cell.source = cell.source.replace("/somebody/", "/OWNER/")
    assert not any(map(notebooks.is_for_colab, notebooks.student(executed).cells))


def test_a_link_to_an_owner_who_is_not_there_becomes_its_text(executed):
    address = "https://github.com/{}/etgp-viz/blob/main/docs/errata.md"
    executed.cells[0].source = f"See [the list]({address.format('OWNER')}), [1] and (2)."
    assert notebooks.student(executed).cells[0].source == "See the list, [1] and (2)."
    executed.cells[0].source = known = f"See [the list]({address.format('somebody')})."
    assert notebooks.student(executed).cells[0].source == known


def test_a_page_asks_for_nothing(executed):
    for page in (handout(executed, NOTEBOOKS), slides(executed, NOTEBOOKS)):
        body = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
        asked = re.findall(r"(?:src|data-src)=[\"']([^\"']+)|url\(([^)]+)\)|@import", body)
        assert asked == []
        assert re.findall(r"<link[^>]*>", body) == ['<link rel="icon" href="data:,">']
        assert re.findall(r"<script[^>]*src", page) == []


def test_slides_leave_out_what_a_hall_does_not_need(executed):
    body = slides(executed, NOTEBOOKS).partition("<main>")[2].partition("</main>")[0]
    words = re.sub(r"<[^>]+>", "", body)
    assert "check(" in words
    assert "import numpy" not in words
    assert "Explorer()" not in words
    assert "class='tab'" not in body
    assert re.findall(r"data-name='(\w+)'", body) == ["paths"]  # the wide ones, if there are any
    executed.cells[0].metadata["slideshow"] = {"slide_type": "skip"}
    body = slides(executed, NOTEBOOKS).partition("<main>")[2].partition("</main>")[0]
    assert "<math" not in body


def test_a_long_list_goes_on_with_its_numbers():
    items = [f"{number}. {'word ' * 40}" for number in range(1, 6)]
    text = "\n".join(["# Title\n", *items])
    page = slides(new_notebook(cells=[new_markdown_cell(text)]), NOTEBOOKS)
    body = page.partition("<main>")[2].partition("</main>")[0]
    counts = [section.count("<li>") for section in body.split("<section")[1:]]
    assert sum(counts) == 5
    assert 1 < len(counts) < 5
    starts = [int(start) for start in re.findall(r"<ol start='(\d+)'>", body)]
    assert starts == [1 + sum(counts[:k]) for k in range(1, len(counts))]
    short = slides(new_notebook(cells=[new_markdown_cell("# Title\n\n1. a\n2. b")]), NOTEBOOKS)
    assert "start=" not in short.partition("<main>")[2].partition("</main>")[0]


def test_slides_are_cut_where_a_screen_is_full():
    def text(lines):
        return Piece("text", "", lines=lines)

    head, picture = Piece("heading", "<h2>Derive</h2>", 2, 2.0), Piece("figure", "")
    exercise = Piece("heading", "<h3>Exercise</h3>", 3, 2.0)
    assert len(cut([head, exercise, text(1)])) == 1, "a heading does not stand alone"
    half = text(0.5 * LINES)
    found = cut([head, half, half, text(99), picture, text(1), head, picture, picture])
    kinds = [[piece.kind for piece in slide.pieces] for slide in found]
    assert kinds == [
        ["heading", "text"],
        ["text"],
        ["text"],
        ["figure"],
        ["text"],
        ["heading", "figure"],
        ["figure"],
    ]
    assert all(slide.lines <= LINES for slide in found if len(slide.pieces) > 1)
    assert {slide.section for slide in found[1:]} == {"Derive"}


FOLDED = """## Play

Move it.

<details>
<summary>Answers</summary>

It moves by $a^2$.

| a | b |
|---|---|
| 1 | 2 |

</details>

**Legend.** Across: x."""


def test_a_folded_answer_is_one_piece():
    heading, text, fold, legend = markdown(FOLDED, NOTEBOOKS)
    assert [piece.kind for piece in (heading, text, fold, legend)] == [
        *("heading", "text", "fold", "text"),
    ]
    assert fold.html.count("<details>") == fold.html.count("</details>") == 1
    assert "<math" in fold.html
    assert "<table" in fold.html


def test_what_the_speaker_says_is_not_on_the_slide():
    notebook = new_notebook(cells=[new_markdown_cell("# 99 · Small\n\nHello."),
                                   new_markdown_cell(FOLDED)])  # fmt: skip
    page = slides(notebook, NOTEBOOKS, {"": "Say *hello*.", "Play": "Wait.", "Else": "Lost."})
    body = page.partition("<main>")[2].partition("</main>")[0]
    first, play = re.findall(r"<section.*?</section>", body, flags=re.DOTALL)
    shown, _, said = play.partition("<aside class='speaker'>")
    assert "Move it." in shown
    assert "It moves by" not in shown
    assert "Legend" not in shown
    assert said.index("Wait.") < said.index("<details open>") < said.index("Legend")
    assert "Say <em>hello</em>." in first.partition("<aside class='speaker'>")[2]
    assert "Lost." not in body
    assert "Answers" in handout(notebook, NOTEBOOKS)


def test_what_belongs_together_stays_together():
    head, line = Piece("heading", "<h3>Exercise</h3>", 3, 2.0), Piece("text", "You can", lines=1.5)
    full, stub = Piece("text", "", lines=LINES - 4), Piece("exercise", "", lines=6)
    (first, second) = cut([head, full, line, full])
    assert first.pieces == [head, full]
    assert second.pieces == [line, full]
    assert [slide.pieces for slide in cut([head, full, stub, line])] == [[head, full, stub], [line]]
    assert [slide.pieces for slide in cut([head, line, full])] == [[head, line, full]]


# The command --------------------------------------------------------------------------------


def test_the_command_builds_and_explains(tmp_path, capsys):
    wanted = ["course", "build", "--no-handouts", "--output", str(tmp_path / "out"), "--lessons"]
    assert main([*wanted, "00,06"]) == 0
    out = capsys.readouterr().out
    assert "✓ 2 notebooks" in out
    assert "course.zip" in out
    assert len(list((tmp_path / "out" / "instructor").iterdir())) == 2
    assert main([*wanted, "6"]) == 2
    assert "lessons: expected some of 00," in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["course"])


@pytest.mark.slow
def test_a_notebook_runs_quietly_in_a_folder_of_its_own(capfd):
    cells = [new_code_cell("open('here.txt', 'w').close()"), new_code_cell("1 / 0")]
    ran = []
    before = set(Path().iterdir())
    assert 0.0 < execute(new_notebook(cells=cells[:1]), lambda: ran.append(1)) < 60.0
    assert ran == [1]
    assert set(Path().iterdir()) == before
    assert capfd.readouterr() == ("", "")  # the kernel's own words would reach the terminal
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        execute(new_notebook(cells=cells))
