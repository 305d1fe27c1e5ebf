"""Exercises: right, wrong and not yet, on the stub, the solution and every known mistake."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest

from etgp_viz import timing
from etgp_viz.course import check, hint, progress, solution
from etgp_viz.course.answers import Number
from etgp_viz.course.checking import (
    KINDS,
    LESSONS,
    NOT_YET,
    RIGHT,
    WRONG,
    Exercise,
    Mistake,
    lesson,
)
from etgp_viz.course.lessons.lesson_06 import gp_operations

ROOT = Path(__file__).parents[3]
NOTEBOOKS = {number: next((ROOT / "notebooks").glob(f"{number}_*.ipynb")) for number in LESSONS}
EXERCISES = [(number, each) for number in LESSONS for each in lesson(number).exercises]
each_lesson = pytest.mark.parametrize("number", LESSONS)
each_exercise = pytest.mark.parametrize(
    ("number", "exercise"), EXERCISES, ids=[each.id for _, each in EXERCISES]
)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """Progress is saved in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules["etgp_viz.course.progress"], "_unsaved", {})


def run(code: str, number: str) -> dict:
    """What code of the course (never a student's) leaves behind, after the lesson's setup."""
    names: dict = {}
    exec(f"{lesson(number).setup}\n{code}", names)
    return names


# Every exercise -----------------------------------------------------------------------------


@each_exercise
def test_the_solution_is_right(number, exercise):
    verdict = exercise.check(run(exercise.solution, number)[exercise.name])
    assert verdict.outcome == RIGHT, verdict.reason
    assert exercise.explanation in verdict.reason


@each_exercise
def test_the_stub_is_not_yet(number, exercise):
    assert exercise.check(run(exercise.stub, number)[exercise.name]).outcome == NOT_YET
    assert exercise.check(None).outcome == exercise.check(...).outcome == NOT_YET


@pytest.mark.parametrize(
    ("exercise", "mistake"),
    [
        pytest.param(each, mistake, id=f"{each.id} {name}")
        for _, each in EXERCISES
        for name, mistake in each.mistakes.items()
    ],
)
def test_a_known_mistake_is_named(exercise, mistake):
    verdict = exercise.check(mistake.answer())
    assert (verdict.outcome, verdict.reason) == (WRONG, mistake.message)


@each_exercise
@pytest.mark.parametrize(
    "answer",
    ["a word", [1, 2, 3, 4], object(), {"a": 1}, np.nan, np.inf, True, 10**400, lambda: 3],
    ids=["word", "list", "object", "dict", "nan", "infinity", "truth", "huge", "function"],
)
def test_nonsense_is_wrong_with_a_reason(number, exercise, answer):
    verdict = exercise.check(answer)
    assert verdict.outcome == WRONG
    assert len(verdict.reason) > 10


@each_exercise
def test_it_is_complete(number, exercise):
    assert exercise.id.startswith(f"{number}.")
    assert len(set(exercise.hints)) == 3
    assert len(exercise.mistakes) >= 3
    texts = [exercise.prompt, exercise.explanation, *exercise.hints]
    assert all(text.strip() for text in texts)


@each_lesson
def test_a_lesson_asks_in_different_ways(number):
    kinds = [each.kind for each in lesson(number).exercises]
    assert 3 <= len(kinds) <= 7
    assert len(set(kinds)) >= 3
    assert set(kinds) <= set(KINDS)


# The notebooks ------------------------------------------------------------------------------


def tagged(number: str, tag: str) -> list[str]:
    cells = nbformat.read(NOTEBOOKS[number], as_version=4).cells
    return [cell.source for cell in cells if tag in cell.metadata.get("tags", ())]


@each_lesson
def test_the_notebook_has_every_exercise(number):
    assert tagged(number, "setup") == [lesson(number).setup]
    assert tagged(number, "exercise") == [each.cell for each in lesson(number).exercises]
    cells = nbformat.read(NOTEBOOKS[number], as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for each in lesson(number).exercises:
        assert each.prompt in text, f"prompt of {each.id}"
        assert each.solution not in "\n".join(tagged(number, "exercise"))


@each_lesson
def test_notes_for_the_teacher_have_their_place(number):
    cells = nbformat.read(NOTEBOOKS[number], as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert set(lesson(number).teaching) <= {"", *headings}


@each_lesson
def test_the_minutes_add_up(number):
    """What the notebook promises is what the parts take, as the instructor is told."""
    cells = nbformat.read(NOTEBOOKS[number], as_version=4).cells
    (promised,) = re.findall(r"\(about (\d+) minutes", cells[1].source)
    notes = lesson(number).teaching[""]
    timing = re.match(r"\*\*Timing\*\* \((\d+) minutes[^)]*\): (.*?)\.(?:\s|$)", notes)
    parts = [int(part.split()[-1]) for part in timing[2].split(", ")]
    assert sum(parts) == int(timing[1]) == int(promised)


@each_lesson
@pytest.mark.parametrize("solved", [False, True], ids=["as shipped", "with solutions"])
def test_the_notebook_checks(number, solved):
    for exercise, cell in zip(lesson(number).exercises, tagged(number, "exercise"), strict=True):
        code = cell.replace(exercise.stub, exercise.solution) if solved else cell
        reply = run(code.replace("check(", "reply = check("), number)["reply"]
        assert reply.outcome == (RIGHT if solved else NOT_YET), reply.text
    assert sum(record.solved for _, records in progress().rows for _, record in records) == (
        len(lesson(number).exercises) if solved else 0
    )


# Lesson 06, against answers written independently -------------------------------------------


@pytest.mark.parametrize(
    ("exercise", "answer", "word"),
    [
        ("06.1", {"svgp-separate": 1, "svgp-shared": 1, "etgp": 1}, "flows"),
        ("06.1", {"svgp-separate": 1.0, "svgp-shared": 0.1, "etgp": 0.0}, "factorised once"),
        ("06.1", {"svgp-separate": 0.5, "svgp-shared": 1, "etgp": 0}, "0.5 for 'svgp-separate'"),
        ("06.1", {"svgp-separate": 1, "etgp": 0}, "'svgp-shared' is missing"),
        ("06.2", lambda C, N, M: (C * M**2 + C * N * M**2,) * 3, "not M²"),
        ("06.2", lambda C, N, M: (C * (M**3 + N * M**2),) * 3, "no C in front of M³"),
        ("06.2", lambda C, N, M: 1 / 0, "ZeroDivisionError"),
        ("06.2", lambda C, N, M: C * M**3, "returned 1"),
        ("06.2", lambda C, N: (C, N, 1), "TypeError"),
        ("06.2", lambda C, N, M: (C * N**3, 0, 0), "it should be"),
        ("06.2", gp_operations(2, 3, 4), "the function gp_operations itself"),
        ("06.3", -3.0, "too small"),
        ("06.4", 1e4, "too large"),
    ],
)
def test_what_is_said_of_a_wrong_answer(exercise, answer, word):
    reply = check(exercise, answer)
    assert reply.outcome == WRONG
    assert word in reply.text


def test_a_function_that_is_right_only_where_it_was_tried():
    def no_class_is_special(C, N, M):
        return (0, 0, 1) if C == 1 else gp_operations(C, N, M)

    reply = check("06.2", no_class_is_special)
    assert reply.outcome == WRONG
    assert "With one class all three are the same" in reply.text

    def breaks_down(C, N, M):
        return gp_operations(C, N, M) if C > 1 else None

    assert "TypeError" in check("06.2", breaks_down).text


def test_arrays_and_other_numbers_count():
    assert check("06.2", lambda C, N, M: np.array(gp_operations(C, N, M), float)).outcome == RIGHT
    truth = lesson("06").exercises[2].truth()
    assert check("06.3", np.array(truth)).outcome == RIGHT
    assert check("06.3", np.float32(truth)).outcome == RIGHT
    assert check("06.3", round(truth, 2)).outcome == RIGHT  # as tables print it


def test_the_count_is_that_of_the_race():
    """The leading terms are those of the full count of `timing.operations`, for large M and N."""
    C, N, M = 7, 30_000, 10_000
    separate, shared, etgp = gp_operations(C, N, M)
    for name, leading in (("svgp-separate", separate), ("etgp-linear", etgp)):
        count = timing.operations(name, timing.Size(C, N, M, 1))
        full = 6 * count["factors"] + count["solves"] + count["moments"]
        assert full == pytest.approx(leading, rel=1e-3)
    assert etgp < shared < separate


def test_the_figures_are_those_of_the_analysis():
    table, exercises = run("", "06")["table"], {each.id: each for each in lesson("06").exercises}
    slope = timing.slopes(table).set_index("model").loc["etgp-linear"]
    assert slope.low < exercises["06.3"].truth() < slope.high
    found = timing.speedups(table).set_index(["model", "classes"]).speedup
    largest = found[("svgp-batched", table["classes"].max())]
    assert exercises["06.4"].truth() == pytest.approx(largest, rel=0.25)
    assert f"{slope.slope:.2f}" in exercises["06.1"].reveal()


# Replies ------------------------------------------------------------------------------------


def test_hints_come_one_by_one_and_then_a_solution():
    exercise = lesson("06").exercises[1]
    refused = solution("06.2")
    assert refused.outcome == NOT_YET
    assert exercise.solution not in str(refused) + refused._repr_html_()
    for number in (1, 2, 3, 3):
        reply = hint("06.2")
        assert reply.title == f"06.2: hint {number} of 3"
        assert exercise.hints[number - 1] in reply.text
    shown = solution("06.2")
    assert shown.code == exercise.solution
    assert "<pre>def gp_operations(" in shown._repr_html_()


def test_a_solution_after_an_attempt_but_not_after_the_stub():
    check("06.3", ...)
    assert solution("06.3").outcome == NOT_YET
    check("06.3", 5.0)
    assert solution("06.3").outcome == "solution"


def test_a_reply_has_words_and_an_icon_and_escapes_what_came():
    wrong = check("06.2", "<script>")
    assert str(wrong).startswith("✗ 06.2: not right\n")
    assert "<script>" in str(wrong)
    assert "<script>" not in wrong._repr_html_()
    assert "not right" in wrong._repr_html_()
    assert str(check("06.2")).startswith("… 06.2: not yet")
    assert str(check("06.2", gp_operations)).startswith("✓ 06.2: right")


@pytest.mark.parametrize("ask", [check, hint, solution])
def test_an_unknown_exercise_is_named(ask):
    with pytest.raises(ValueError, match=r"one of 06\.1, 06\.2, .*06\.6 .*got '06\.9'"):
        ask("06.9")
    for unknown in ("99.1", "", 6.2):
        with pytest.raises(ValueError, match=r"an exercise of lesson .*06"):
            ask(unknown)


def test_an_exercise_needs_three_hints_and_a_known_kind():
    parts = {
        "id": "00.1", "prompt": "?", "stub": "x = ...", "name": "x", "answer": Number(0.1),
        "truth": lambda: 1.0, "mistakes": {"two": Mistake(lambda: 2.0, "Not two.")},
        "solution": "x = 1.0", "explanation": "So it is.",
    }  # fmt: skip
    with pytest.raises(ValueError, match="hints: expected three, got 1"):
        Exercise(kind="numeric", hints=("one",), **parts)
    with pytest.raises(ValueError, match="kind: expected one of"):
        Exercise(kind="quiz", hints=("a", "b", "c"), **parts)
    exercise = Exercise(kind="numeric", hints=("a", "b", "c"), **parts)
    assert exercise.check(2.05).reason == "Not two."
    assert exercise.check(3.0).reason == "3 is too large."


# Progress -----------------------------------------------------------------------------------


def records() -> dict[str, str]:
    return {name: str(record) for _, row in progress().rows for name, record in row}


def test_progress_is_kept_and_what_is_solved_stays_solved():
    assert set(records().values()) == {"· not begun"}
    assert not Path("progress.json").exists()
    check("06.2", gp_operations)
    check("06.2", 3)
    hint("06.4")
    assert records()["06.2"] == "✓ right, 2 attempts, 0 hints"
    assert records()["06.4"] == "… begun, 0 attempts, 1 hint"
    assert "06 Cost versus classes: 1 of 6" in str(progress())
    assert "not secure enough for grading" in progress()._repr_html_()
    assert [path.name for path in Path().iterdir()] == ["progress.json"]


def test_another_process_goes_on_and_loads_no_tensorflow():
    check("06.2", gp_operations)
    code = (
        "import sys; from etgp_viz.course import hint, progress; hint('06.2'); print(progress());"
        "assert 'tensorflow' not in sys.modules"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "06.2  ✓ right, 1 attempt, 1 hint" in done.stdout
    assert records()["06.2"] == "✓ right, 1 attempt, 1 hint"


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"format": 1}',
        b'{"format": 2, "exercises": {}}',
        b'{"format": 1, "exercises": []}',
        b'{"format": 1, "exercises": {"06.1": 3}}',
        b'{"format": 1, "exercises": {"06.1": {"solved": "yes"}}}',
        b'{"format": 1, "exercises": {"06.1": {"attempts": -1}}}',
        b'{"format": 1, "exercises": {"06.1": {"hints": 1.5}}}',
        b'{"format": 1, "exercises": {"06.1": {"grade": 1}}}',
    ],
)
def test_a_broken_file_is_set_aside_and_never_overwritten(broken):
    Path("progress.broken-1.json").write_bytes(b"from before")
    Path("progress.json").write_bytes(broken)
    reply = check("06.2", gp_operations)
    assert "progress.broken-2.json" in reply.message
    assert "progress.broken-2.json" in reply._repr_html_()
    assert Path("progress.broken-1.json").read_bytes() == b"from before"
    assert Path("progress.broken-2.json").read_bytes() == broken
    assert records()["06.2"].startswith("✓ right")
    assert check("06.2", 1).message == ""


def test_records_of_other_lessons_are_kept():
    other = {"solved": True, "attempts": 1, "hints": 0, "solution": False}
    Path("progress.json").write_text(json.dumps({"format": 1, "exercises": {"99.1": other}}))
    check("06.2", gp_operations)
    assert json.loads(Path("progress.json").read_text())["exercises"]["99.1"] == other


def test_where_nothing_can_be_saved_checks_still_work():
    Path("progress.json").mkdir()  # nobody, not even root, can write a file here
    reply = check("06.2", gp_operations)
    assert reply.outcome == RIGHT
    assert re.search(r"cannot be read .*nothing is saved", reply.message)
    assert [hint("06.4").title[-6:] for _ in range(2)] == ["1 of 3", "2 of 3"]
    assert Path("progress.json").is_dir()
    Path("progress.json").rmdir()
    assert hint("06.4").message == ""
    assert records()["06.2"].startswith("✓ right, 1 attempt")
    assert json.loads(Path("progress.json").read_text())["exercises"]["06.4"]["hints"] == 3


def test_a_write_that_fails_leaves_the_old_file(monkeypatch):
    check("06.2", gp_operations)
    before = Path("progress.json").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    reply = check("06.2", 3)
    assert "No space left on device" in reply.message
    assert [path.name for path in Path().iterdir()] == ["progress.json"]
    assert Path("progress.json").read_bytes() == before
