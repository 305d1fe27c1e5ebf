"""Assignments for nbgrader and Otter: a right, a wrong and an empty submission get their scores.

With the real packages, where they are installed: `pip install nbgrader otter-grader`.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from etgp_viz.cli import main
from etgp_viz.course.checking import LESSONS, NOT_YET, RIGHT, WRONG, find_exercise, lesson
from etgp_viz.course.grading import grade
from etgp_viz.course.publish.graders import GRADERS
from tests.unit.course.test_publish import NOTEBOOKS, leaks, notebook_of

ROOT = Path(__file__).parents[3]
each_grader = pytest.mark.parametrize("grader", GRADERS)
each_lesson = pytest.mark.parametrize("number", LESSONS)


def needs(package: str):
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed")


# Hidden variants ------------------------------------------------------------------------------


@each_lesson
def test_a_solution_passes_the_hidden_variants_and_a_stub_does_not(number):
    for exercise in lesson(number).exercises:
        names: dict = {}
        exec(f"{lesson(number).setup}\n{exercise.solution}", names)  # code of the course
        for variant in (1, 2):
            assert grade(exercise.id, names[exercise.name], variant).outcome == RIGHT
        assert grade(exercise.id, None, 1).outcome == NOT_YET


def test_a_hidden_variant_sees_what_the_open_one_does_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exercise = lesson("04").exercises[1]
    table = {tuple(call): exercise.truth()(*call) for call in exercise.answer.inputs()}

    def learnt_by_heart(*call):
        return table.get(call, exercise.truth()(*call) if call[0] == 0.7 or call[1] < 0 else 0.0)

    assert grade(exercise.id, learnt_by_heart, exercise.answer.seed).outcome == RIGHT
    assert grade(exercise.id, learnt_by_heart, 99).outcome == WRONG
    assert not Path("progress.json").exists()


# The notebooks --------------------------------------------------------------------------------


@each_grader
@each_lesson
def test_an_assignment_holds_every_exercise_once(grader, number):
    made = GRADERS[grader](notebook_of(NOTEBOOKS, number), lesson(number))
    nbformat.validate(made)
    identifiers = [cell.id for cell in made.cells]
    assert len(set(identifiers)) == len(identifiers)
    text = "\n".join(cell.source for cell in made.cells)
    for exercise in lesson(number).exercises:
        assert text.count(f'grade("{exercise.id}"') == text.count(exercise.check_line) == 1
        assert exercise.solution in text
    assert leaks(notebook_of(NOTEBOOKS, number), number) == []


def test_the_command_writes_both(tmp_path, capsys):
    for grader in GRADERS:
        command = ["course", "build", "--for", grader, "--lessons", "04", "--output", str(tmp_path)]
        assert main(command) == 0
        assert "1 assignment" in capsys.readouterr().out
    assert (tmp_path / "nbgrader" / "nbgrader_config.py").exists()
    assert len(list((tmp_path / "nbgrader" / "source" / "lesson_04").iterdir())) == 1
    assert len(list((tmp_path / "otter").glob("*.ipynb"))) == 1


# With the real packages -----------------------------------------------------------------------

#: of lesson 04: three exercises (a function, a letter, a sentence) and an explorer, which must not
#: hang the autograder
KEPT = ("title", "setup", "play", "exercise-04-2", "exercise-04-6", "exercise-04-7")
POINTS = {"right": 3.0, "wrong": 0.0, "empty": 0.0}


def small_notebook(grader: str) -> nbformat.NotebookNode:
    notebook = notebook_of(NOTEBOOKS, "04")
    notebook.cells = [cell for cell in notebook.cells if cell.id in KEPT]
    return GRADERS[grader](notebook, lesson("04"))


def submission(released: nbformat.NotebookNode, kind: str) -> nbformat.NotebookNode:
    """A student's version of the notebook that was handed out."""
    pivot, constant, never = (find_exercise(f"04.{number}") for number in (2, 6, 7))
    answers = {
        "right": {each.stub: each.solution for each in (pivot, constant, never)},
        "wrong": {pivot.stub: "def from_pivot(f1, a1, b1, a2, b2):\n    return a2 * f1 + b2",
                  constant.stub: 'choice = "C"', never.stub: 'why = "They do not share a latent."'},
        "empty": {},
    }[kind]  # fmt: skip
    for cell in released.cells:
        for stub, answer in answers.items():
            cell.source = cell.source.replace(stub, answer)
    return released


def run(*command: str, folder: Path) -> None:
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # such as alembic
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": tools}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,  # seconds; an autograder that waits for a page would wait for ever
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@needs("nbgrader")
def test_nbgrader_gives_the_right_scores(tmp_path):
    from nbgrader.api import Gradebook

    main(["course", "build", "--for", "nbgrader", "--lessons", "04", "--output", str(tmp_path)])
    course = tmp_path / "nbgrader"
    (source,) = (course / "source" / "lesson_04").iterdir()
    nbformat.write(small_notebook("nbgrader"), source)
    run("nbgrader", "generate_assignment", "lesson_04", "--create", folder=course)
    released = course / "release" / "lesson_04" / source.name
    assert "BEGIN" not in released.read_text()
    assert "grade(" not in released.read_text()
    for kind in POINTS:
        place = course / "submitted" / kind / "lesson_04"
        place.mkdir(parents=True)
        nbformat.write(submission(nbformat.read(released, 4), kind), place / source.name)
    run("nbgrader", "autograde", "lesson_04", "--create", folder=course)
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        scores = {s.student.id: s.score for s in book.assignment_submissions("lesson_04")}
    assert scores == POINTS


@pytest.mark.slow
@needs("otter")
def test_otter_gives_the_right_scores(tmp_path):
    source = tmp_path / "lesson.ipynb"
    nbformat.write(small_notebook("otter"), source)
    run("otter", "assign", source.name, "dist", "--no-run-tests", "--no-pdfs", folder=tmp_path)
    released = tmp_path / "dist" / "student" / source.name
    assert "grade(" not in released.read_text()
    (archive,) = (tmp_path / "dist" / "autograder").glob("*.zip")
    for kind, points in POINTS.items():
        place = tmp_path / kind
        place.mkdir()
        nbformat.write(submission(nbformat.read(released, 4), kind), place / source.name)
        shutil.copy(archive, place / "autograder.zip")
        run("otter", "run", source.name, "-a", "autograder.zip", "--no-logo", folder=place)
        results = json.loads((place / "results.json").read_text())
        assert sum(test.get("score", 0.0) for test in results["tests"]) == points, kind
