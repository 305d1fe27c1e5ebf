"""``etgp-viz course``: build the course, time its notebooks, show the progress of a class."""

import sys
from argparse import Namespace

from etgp_viz.checks import fail
from etgp_viz.cli import lab
from etgp_viz.files import probe

__all__ = ["print_report"]


def print_report(options: Namespace) -> int:
    """Carry out the task that the options name, and return the exit status."""
    task = {"build": _build, "progress": _progress, "times": _times}[options.task]
    return task(options)


def _build(options: Namespace) -> int:
    from nbclient.exceptions import CellExecutionError

    from etgp_viz.course.publish.build import build, build_assignments

    source = lab.shipped_notebooks()
    probe(options.output / "course.zip", "output")
    if options.grader:
        for sentence in build_assignments(source, options.output, options.grader, options.lessons):
            print(f"✓ {sentence}")
        return 0
    try:
        for sentence in build(source, options.output, options.lessons, handouts=options.handouts):
            print(f"✓ {sentence}")
    except CellExecutionError as error:
        print(f"etgp-viz course: a cell failed.\n{error}", file=sys.stderr)
        return 1
    return 0


def _times(options: Namespace) -> int:
    """Run the shipped notebooks and compare their run times with their budgets."""
    import nbformat

    from etgp_viz.course.publish.build import select
    from etgp_viz.course.publish.notebooks import budget, execute

    late = 0
    for path in select(lab.shipped_notebooks(), options.lessons):
        seconds, allowed = execute(nbformat.read(path, as_version=4)), budget(path.stem)
        late += seconds > allowed
        print(f"{'✓' if seconds <= allowed else '✗'} {path.stem:28} {seconds:5.1f} s of {allowed}")
    return 1 if late else 0


def _progress(options: Namespace) -> int:
    from etgp_viz.course.classroom import TOTALS, collect, write_csv

    if options.output is not None:
        probe(options.output, "output")
    rows = collect(options.folder)
    if not rows:
        fail("folder", "files NAME/progress.json or NAME.json", f"{options.folder} without any")
    table = [TOTALS, *(tuple(str(row.get(name, "")) for name in TOTALS) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip())
    print("For teaching only: anybody can edit these files, so do not base marks on them.")
    if options.output is not None:
        write_csv(rows, options.output)
        print(f"Table of every exercise: {options.output}")
    return 0
