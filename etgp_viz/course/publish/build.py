"""The whole course in one folder, built from the notebooks and the exercises.

student/      notebooks as they are shipped
instructor/   the same with solutions and notes for teaching
handouts/     each notebook executed, as one HTML file
slides/       each notebook as slides, as one HTML file
course.zip    all of it
"""

import shutil
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat
from tqdm.auto import tqdm

from etgp_viz.checks import describe, fail
from etgp_viz.course.checking import LESSONS, lesson
from etgp_viz.course.progress import plural
from etgp_viz.course.publish import notebooks
from etgp_viz.files import replacing, write

__all__ = ["build", "build_assignments", "select", "short_name"]

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
    """Build the course in ``output`` and yield a sentence for each part that is finished.

    Parameters
    ----------
    source, output : folder with the notebooks, and folder of the course, in which an earlier build
        is replaced and other files stay
    lessons : numbers such as "06"; all notebooks if empty
    handouts : whether to run the notebooks for handouts and slides, which takes minutes
    progress : whether to show a progress bar for each notebook that runs
    """
    paths = select(source, lessons)
    for form in FORMS:
        shutil.rmtree(output / form, ignore_errors=True)
        (output / form).mkdir(parents=True)
    (output / ARCHIVE).unlink(missing_ok=True)
    for path in paths:
        _write_notebooks(path, output)
    _copy_pictures(source, output)
    yield f"{plural(len(paths), 'notebook')} for students and for the instructor"
    for path in paths if handouts else ():
        yield _write_pages(path, output, progress)
    _write_archive(output)
    yield f"{output / ARCHIVE} ({_megabytes(output / ARCHIVE)})"


def build_assignments(
    source: Path, output: Path, grader: str, lessons: Sequence[str] = ()
) -> Iterator[str]:
    """Write an assignment for each lesson, and yield a sentence that says what to do with it.

    Parameters
    ----------
    source, output, lessons : as for `build`; the assignments stand in the folder ``grader``
    grader : ``"nbgrader"`` or ``"otter"``
    """
    from etgp_viz.course.publish.graders import CONFIG, GRADERS

    folder = output / grader
    paths = [path for path in select(source, lessons) if short_name(path) in LESSONS]
    shutil.rmtree(folder, ignore_errors=True)
    for path in paths:
        number = short_name(path)
        made = GRADERS[grader](nbformat.read(path, as_version=4), lesson(number))
        place = folder / "source" / f"lesson_{number}" if grader == "nbgrader" else folder
        place.mkdir(parents=True, exist_ok=True)
        write(place / path.name, nbformat.writes(made) + "\n")
    yield f"{plural(len(paths), 'assignment')} in {folder}"
    if grader == "nbgrader":
        write(folder / "nbgrader_config.py", CONFIG)
        yield f"next: cd {folder} and nbgrader generate_assignment lesson_{short_name(paths[0])}"
    else:
        yield f"next: cd {folder} and otter assign {paths[0].name} dist"


def select(source: Path, lessons: Sequence[str] = ()) -> list[Path]:
    """Notebooks of the lessons with these numbers; all notebooks if there are no numbers."""
    paths = sorted(source.glob("*.ipynb"))
    names = [short_name(path) for path in paths]
    for number in lessons:
        if number not in names:
            fail("lessons", f"some of {', '.join(names)}", describe(number))
    return [path for path in paths if not lessons or short_name(path) in lessons]


def short_name(path: Path) -> str:
    """Number of a lesson, or the whole name of a notebook that has none.

    >>> short_name(Path("06_cost_versus_classes.ipynb")), short_name(Path("explorers.ipynb"))
    ('06', 'explorers')
    """
    return path.stem[:2] if path.stem[:2].isdigit() else path.stem


def _write_notebooks(path: Path, output: Path) -> None:
    notebook, number = nbformat.read(path, as_version=4), short_name(path)
    plain = notebooks.student(notebook)
    annotated = notebooks.instructor(notebook, lesson(number)) if number in LESSONS else plain
    for form, version in (("student", plain), ("instructor", annotated)):
        write(output / form / path.name, nbformat.writes(version) + "\n")


def _copy_pictures(source: Path, output: Path) -> None:
    """Copy the pictures that notebooks show to the same place beside both versions."""
    for path in source.rglob("*"):
        if path.suffix in (".png", ".svg", ".jpg") and not path.parent.name.startswith("."):
            for form in ("student", "instructor"):
                write(output / form / path.relative_to(source), path.read_bytes())


def _write_pages(path: Path, output: Path, progress: bool) -> str:
    from etgp_viz.course.publish.pages import executed, handout, slides

    notebook, name = nbformat.read(path, as_version=4), short_name(path)
    cells = sum(cell.cell_type == "code" for cell in notebook.cells)
    # `executed` adds a hidden cell at the top and one before each code cell.
    with tqdm(total=2 * cells + 1, desc=path.stem, unit="cell", disable=not progress) as bar:
        run = executed(notebook, bar.update)
    teaching = lesson(name).teaching if name in LESSONS else {}
    pages = {"handouts": handout(run, path.parent), "slides": slides(run, path.parent, teaching)}
    for form, page in pages.items():
        write(output / form / f"{name}.html", page)
    size = _megabytes(output / "handouts" / f"{name}.html")
    return f"handouts/{name}.html ({size}) and slides/{name}.html"


def _write_archive(output: Path) -> None:
    with replacing(output / ARCHIVE) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as z:
        for form in FORMS:
            for path in sorted((output / form).rglob("*")):
                if path.is_file():
                    z.write(path, path.relative_to(output))


def _megabytes(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB"
