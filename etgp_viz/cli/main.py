"""Verbs and options of ``etgp-viz``. Nothing heavy is imported before the verb is known."""

import argparse
import io
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["main"]

PASSING_ON = (("lab", None), ("class", "start"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``etgp-viz``.

    Parameters
    ----------
    argv : the arguments, those of the process if None

    Returns
    -------
    the exit status
    """
    parser = ArgumentParser(
        prog="etgp-viz",
        description="See and touch Efficient Transformed Gaussian Processes in JupyterLab.",
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for add_verb in (
        _add_doctor,
        _add_lab,
        _add_timing,
        _add_experiment,
        _add_claims,
        _add_course,
        _add_class,
    ):
        add_verb(verbs)
    # A terminal that cannot show ✓ must not end the program.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    arguments = sys.argv[1:] if argv is None else list(argv)
    options, unknown = parser.parse_known_args(arguments)
    # These two pass unknown options on to the server that they start.
    if unknown and (options.verb, getattr(options, "task", None)) not in PASSING_ON:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    options.command = shlex.join(["etgp-viz", *arguments])
    options.jupyter_options = unknown
    try:
        return options.run(options)
    except ModuleNotFoundError as error:
        from etgp_viz.checks import MODEL_PACKAGES

        if error.name not in MODEL_PACKAGES:  # not the light package but a bug: show the traceback
            raise
        print(f"etgp-viz {options.verb}: {error}", file=sys.stderr)
        return 1
    except (ValueError, OSError, MemoryError) as error:  # what was typed, or the machine
        from etgp_viz.files import reason
        from etgp_viz.messages import one_line

        is_system = isinstance(error, OSError) and error.strerror
        problem = reason(error) if is_system else str(error) or type(error).__name__
        lines = map(one_line, f"etgp-viz {options.verb}: {problem}".splitlines())
        print(*lines, sep="\n", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _add_doctor(verbs: Any) -> None:
    def run(options: Namespace) -> int:
        from etgp_viz.cli import doctor

        return doctor.print_report()

    parser = _add_parser(verbs, "doctor", "check this installation; name problems and fixes")
    parser.set_defaults(run=run)


def _add_lab(verbs: Any) -> None:
    def run(options: Namespace) -> int:
        from etgp_viz.cli import lab

        return lab.start(options.folder, options.jupyter_options)

    parser = verbs.add_parser(
        "lab",
        help="start JupyterLab with the notebooks",
        description="Copy the notebooks into a folder and start JupyterLab there. Notebooks that "
        "you have changed are never overwritten. All other options are passed on to JupyterLab.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("etgp-notebooks"),
        help="folder for the notebooks (default: ./etgp-notebooks)",
    )


def _add_timing(verbs: Any) -> None:
    def run(options: Namespace) -> int:
        from etgp_viz.cli import timing

        return timing.print_report(options)

    parser = verbs.add_parser(
        "timing",
        help="race ETGP against its rivals as the number of classes grows",
        description="Time training steps and predictions for each number of classes and print a "
        "table. Every model runs in its own processes, with limits on time and memory.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)

    def add(flag: str, default: Any, text: str, kind: Any = str) -> None:
        parser.add_argument(flag, type=kind, default=default, help=text)

    models = ("etgp-linear", "svgp-shared", "svgp-separate", "svgp-batched")
    add("--models", models, f"names, separated by commas (default: {','.join(models)})", _words)
    add("--classes", (2, 10, 50), "numbers of classes C (default: 2,10,50)", _numbers)
    add("--num-data", (1000,), "numbers of rows N (default: 1000)", _numbers)
    add("--num-inducing", (100,), "numbers of inducing points M (default: 100)", _numbers)
    add("--num-inputs", 10, "number of inputs D (default: 10)", _whole)
    add("--repeats", 20, "timed rounds for each model and size (default: 20)", _whole)
    add("--sessions", 3, "fresh processes over which the rounds are split (default: 3)", _whole)
    add("--budget", 120.0, "seconds for each model and size (default: 120)", _number)
    text = "time limit: after the first session, none starts that would exceed it"
    add("--minutes", 4.0, f"{text} (default: 4)", _number)
    add("--memory-limit", None, "GiB for each model (default: half of the free memory)", _number)
    add("--out", None, "CSV file for the measurements", Path)
    add("--picture", None, "file for a figure of the race: .png, .svg or .html", Path)
    parser.add_argument("--resume", action="store_true", help="continue the file given by --out")
    parser.add_argument(
        "--memory",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="measure the peak memory of a step",
    )


def _add_experiment(verbs: Any) -> None:
    def run(options: Namespace) -> int:
        from etgp_viz.cli import experiment

        return experiment.print_report(options, options.command)

    parser = verbs.add_parser(
        "experiment",
        help="compare ETGP with its rivals on real data",
        description="Train the models of a preset on its data sets and print the table. Finished "
        "runs are kept in a file; after an interruption the same command continues there.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)

    def add(flag: str, text: str, kind: Any = str, **more: Any) -> None:
        parser.add_argument(flag, type=kind, help=text, **more)

    presets = ("quick", "laptop", "paper", "extensions")
    words = (
        "quick (minutes; the default), laptop (under two hours on two cores), paper (for a "
        "cluster), or extensions (ETGP with its extensions, under one hour on two cores)"
    )
    add("--preset", words, choices=presets, default="quick")
    words = "only these data sets, separated by commas; FILE.csv:COLUMN for your own"
    add("--datasets", words, _words)
    words = "only these models, such as etgp-tanh,svgp-rbf-shared; speed is the race of steps"
    add("--models", words, _words)
    add("--num-inducing", "numbers of inducing points M instead of the preset's", _numbers)
    add("--seeds", "seeds, separated by commas, instead of the preset's", _numbers)
    add("--steps", "number of training steps instead of the preset's", _whole)
    add("--workers", "processes on this machine (default: one for each core)", _whole)
    add(
        "--scheduler",
        "address of a running Dask scheduler to use instead: tls://host:port, or tcp://host:port "
        "in a network that you trust, since anybody who can reach that port can run code as you",
    )
    add("--output", "CSV file for the results (default: experiment-PRESET.csv)", Path)
    _add_paper_selection(parser)


def _add_claims(verbs: Any) -> None:
    def run(options: Namespace) -> int:
        from etgp_viz.cli import experiment

        return experiment.print_claims(options)

    parser = verbs.add_parser(
        "claims",
        help="check the paper's claims against results",
        description="Print where ETGP is behind; then, for each claim of the paper and each "
        "question of a referee, whether it holds here, does not hold here, is undecided here or "
        "was not tested here, with the data, seeds, budgets, margin and figures.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "results",
        type=Path,
        nargs="?",
        help="CSV file that `etgp-viz experiment` wrote (default: the results in the package)",
    )
    _add_paper_selection(parser)


def _add_paper_selection(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--paper-selection",
        action="store_true",
        help="pick the rivals' configurations on the test rows, as the paper did",
    )


def _add_course(verbs: Any) -> None:
    def run(options: Namespace) -> int:
        from etgp_viz.cli import course

        return course.print_report(options)

    parser = _add_parser(verbs, "course", "build the course, or show the progress of a class")
    parser.set_defaults(run=run)
    tasks = parser.add_subparsers(dest="task", required=True, metavar="TASK")
    text = "write notebooks for students and instructor, handouts, slides and a ZIP file"
    build = _add_parser(tasks, "build", text)
    build.add_argument(
        "--output",
        type=Path,
        default=Path("etgp-course"),
        help="folder for the course (default: ./etgp-course)",
    )
    build.add_argument(
        "--handouts",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run the notebooks to make handouts and slides, which takes minutes",
    )
    build.add_argument(
        "--for",
        dest="grader",
        choices=("nbgrader", "otter"),
        help="write assignments for this system instead, with hidden variants of the checks",
    )
    times = _add_parser(tasks, "times", "run the notebooks and compare times with budgets")
    for task in (build, times):
        text = "numbers of lessons, such as 01,06 (default: all)"
        task.add_argument("--lessons", type=_words, default=(), help=text)
    progress = tasks.add_parser(
        "progress",
        help="join students' files NAME/progress.json or NAME.json into a table",
        description="Print one row for each student. Anybody can edit these files, so do not base "
        "marks on them.",
        allow_abbrev=False,
    )
    progress.add_argument("folder", type=Path, help="folder with the students' files")
    progress.add_argument("--output", type=Path, help="CSV file with every exercise")


def _add_class(verbs: Any) -> None:
    def run(options: Namespace) -> int:
        from etgp_viz.cli import hub

        return hub.print_report(options)

    parser = _add_parser(verbs, "class", "set up a JupyterHub for a class")
    parser.set_defaults(run=run)
    tasks = parser.add_subparsers(dest="task", required=True, metavar="TASK")
    text = "write the files for a hub, and print how many students the machine can hold"
    init = _add_parser(tasks, "init", text)
    init.add_argument("folder", type=Path, help="a new folder that students can read")
    text = "number of students working at the same time (default: 20)"
    init.add_argument("--students", type=_whole, default=20, help=text)
    text = "memory of the machine in GiB (default: this machine's)"
    init.add_argument("--memory", type=_number, help=text)
    text = "update a student's notebooks and start the student's server (the hub runs this)"
    _add_parser(tasks, "start", text)


def _add_parser(verbs: Any, name: str, text: str) -> ArgumentParser:
    """A verb or task whose own help page begins with what its parent's says about it."""
    description = f"{text[0].upper()}{text[1:]}."
    return verbs.add_parser(name, help=text, description=description, allow_abbrev=False)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(_whole, text.split(",")))


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _not("a whole number", text) from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _not("a number", text) from None


def _not(expected: str, text: str) -> argparse.ArgumentTypeError:
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    return argparse.ArgumentTypeError(f"expected {expected}, got {shown!a}")
