"""The course in all its forms, from the notebooks and the exercises, into one folder.

student/      notebooks as they are shipped
instructor/   the same with solutions and notes for teaching
handouts/     each executed, as one HTML file
slides/       each as slides, as one HTML file
course.zip    all of it
"""

import shutil
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat
from tqdm.auto import tqdm

from etgp_viz.checks import fail
from etgp_viz.course.checking import LESSONS, lesson
from etgp_viz.course.publish import versions

__all__ = ["build", "chosen", "short_name"]

FORMS = ("student", "instructor", "handouts", "slides")
ARCHIVE = "course.zip"


def build(
    source: Path,
    output: Path,
    lessons: Sequence[str] = (),
    *,
    handouts: bool = True,
    progress: bool = True,
) -> Iterator[str]:
    """Make the course in ``output``, and yield a sentence for each part that is done.

    Parameters
    ----------
    source : the folder of the notebooks
    output : where to; what an earlier build left there is replaced, other files stay
    lessons : numbers such as "06"; all notebooks without any
    handouts : whether to run the notebooks and make handouts and slides
    progress : show a bar for each notebook that runs
    """
    paths = chosen(source, lessons)
    _clear(output)
    for path in paths:
        _write_versions(path, output)
    _copy_pictures(source, output)
    yield f"{len(paths)} notebooks for students and for the instructor"
    if handouts:
        for path in paths:
            yield _write_pages(path, output, progress)
    size = _zip(output)
    yield f"{output / ARCHIVE} ({size / 1e6:.1f} MB)"


def chosen(source: Path, lessons: Sequence[str] = ()) -> list[Path]:
    """The notebooks of the lessons with these numbers, or all that there are."""
    paths = sorted(source.glob("*.ipynb"))
    known = [short_name(path) for path in paths]
    for number in lessons:
        if number not in known:
            fail("lessons", f"some of {', '.join(known)}", repr(number))
    return [path for path in paths if not lessons or short_name(path) in lessons]


def short_name(path: Path) -> str:
    """The number of a lesson; the whole name of a notebook without one."""
    return path.stem[:2] if path.stem[:2].isdigit() else path.stem


def _clear(output: Path) -> None:
    for form in FORMS:
        shutil.rmtree(output / form, ignore_errors=True)
        (output / form).mkdir(parents=True)
    (output / ARCHIVE).unlink(missing_ok=True)


def _write_versions(path: Path, output: Path) -> None:
    notebook, number = nbformat.read(path, as_version=4), short_name(path)
    plain = versions.student(notebook)
    taught = versions.instructor(notebook, lesson(number)) if number in LESSONS else plain
    nbformat.write(plain, output / "student" / path.name)
    nbformat.write(taught, output / "instructor" / path.name)


def _copy_pictures(source: Path, output: Path) -> None:
    """What the notebooks show, beside both kinds of them."""
    for path in source.rglob("*"):
        if path.suffix in (".png", ".svg", ".jpg") and not path.parts[-2].startswith("."):
            for form in ("student", "instructor"):
                place = output / form / path.relative_to(source)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)


def _write_pages(path: Path, output: Path, progress: bool) -> str:
    from etgp_viz.course.publish.handout import executed, handout
    from etgp_viz.course.publish.slides import slides

    notebook, name = nbformat.read(path, as_version=4), short_name(path)
    cells = sum(cell.cell_type == "code" for cell in notebook.cells)
    # Each cell has a hidden one before it, and one more begins.
    with tqdm(total=2 * cells + 1, desc=path.stem, unit="cell", disable=not progress) as bar:
        run = executed(notebook, bar.update)
    for form, make in (("handouts", handout), ("slides", slides)):
        (output / form / f"{name}.html").write_text(make(run, path.parent), encoding="utf-8")
    size = (output / "handouts" / f"{name}.html").stat().st_size
    return f"handouts/{name}.html ({size / 1e6:.1f} MB) and slides/{name}.html"


def _zip(output: Path) -> int:
    archive = output / ARCHIVE
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for form in FORMS:
            for path in sorted((output / form).rglob("*")):
                if path.is_file():
                    file.write(path, path.relative_to(output))
    return archive.stat().st_size
