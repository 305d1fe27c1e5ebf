"""The few verbs that a person types. Nothing heavy is imported before a verb is known."""

import argparse
import io
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``etgp-viz`` and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="etgp-viz",
        description="Efficient Transformed Gaussian Processes to see and to touch, in JupyterLab.",
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    verbs.add_parser("doctor", help="check that this installation works, and say what to mend")
    lab = verbs.add_parser(
        "lab",
        help="start JupyterLab on the notebooks",
        description="Copy the notebooks into a folder and start JupyterLab there. Notebooks that "
        "you changed are never overwritten. Other options go on to JupyterLab.",
        allow_abbrev=False,
    )
    lab.add_argument(
        "--folder",
        type=Path,
        default=Path("etgp-notebooks"),
        help="where the notebooks live (default: ./etgp-notebooks)",
    )
    _add_timing(verbs)
    _add_experiment(verbs)
    _add_claims(verbs)
    _add_course(verbs)
    # A tick that the terminal cannot spell must not end the program.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    options, rest = parser.parse_known_args(argv)

    if options.verb == "lab":
        from etgp_viz.cli import lab as lab_module

        return lab_module.start(options.folder, rest)
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if options.verb == "timing":
        from etgp_viz.cli import timing

        return timing.print_report(options)
    if options.verb == "experiment":
        from etgp_viz.cli import experiment

        typed = shlex.join(["etgp-viz", *(sys.argv[1:] if argv is None else argv)])
        return experiment.print_report(options, typed)
    if options.verb == "claims":
        from etgp_viz.cli import experiment

        return experiment.print_claims(options)
    if options.verb == "course":
        from etgp_viz.cli import course

        return course.print_report(options)
    from etgp_viz.cli import doctor

    return doctor.print_report()


def _add_timing(verbs: Any) -> None:
    timing = verbs.add_parser(
        "timing",
        help="race ETGP against its rivals over the number of classes",
        description="Race models over the number of classes and print the table. Every model runs "
        "in processes of its own, bounded in time and memory.",
        allow_abbrev=False,
    )

    def add(flag: str, default: Any, words: str, kind: Any = str, **more: Any) -> None:
        timing.add_argument(flag, type=kind, default=default, help=words, **more)

    models = ("etgp-linear", "svgp-shared", "svgp-separate", "svgp-batched")
    add("--models", models, f"names, with commas (default: {','.join(models)})", _words)
    add("--classes", (2, 10, 50), "numbers of classes C (default: 2,10,50)", _numbers)
    add("--num-data", (1000,), "rows N; several with commas (default: 1000)", _numbers)
    add("--num-inducing", (100,), "inducing points M; several with commas (100)", _numbers)
    add("--num-inputs", 10, "inputs D (default: 10)", int)
    add("--repeats", 20, "rounds of each model and size (default: 20)", int)
    add("--sessions", 3, "fresh processes for the rounds of each (default: 3)", int)
    add("--budget", 120.0, "seconds for each model and size (default: 120)", float)
    add("--minutes", 4.0, "begin no further session that would end later (default: 4)", float)
    add("--memory-limit", None, "GiB for each model (default: half of what is free)", float)
    add("--out", None, "CSV file for the measurements", Path)
    add("--picture", None, "picture of the race, .png, .svg or .html", Path)
    timing.add_argument("--resume", action="store_true", help="go on with the file of --out")
    timing.add_argument(
        "--memory",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="measure the peak memory of a step",
    )


def _add_experiment(verbs: Any) -> None:
    experiment = verbs.add_parser(
        "experiment",
        help="compare ETGP with its rivals on real data",
        description="Train the models of a preset on its data sets and print the table. Finished "
        "runs are kept in a file; the same command goes on where it was stopped.",
        allow_abbrev=False,
    )

    def add(flag: str, words: str, kind: Any = str, **more: Any) -> None:
        experiment.add_argument(flag, type=kind, help=words, **more)

    presets = ("quick", "laptop", "paper")
    add("--preset", "quick (minutes), laptop (hours) or paper", choices=presets, default="quick")
    add("--datasets", "these, with commas; FILE.csv:COLUMN for a file of yours", _words)
    add("--models", "only these, with commas, such as etgp-tanh,svgp-rbf-shared,speed", _words)
    add("--num-inducing", "inducing points M, with commas, instead of the preset's", _numbers)
    add("--seeds", "seeds, with commas, instead of the preset's", _numbers)
    add("--steps", "steps of every training, instead of the preset's", int)
    add("--workers", "processes on this machine (default: one for each core)", int)
    add("--scheduler", "tcp://host:port of a running Dask scheduler instead")
    add("--output", "CSV file of the results (default: experiment-PRESET.csv)", Path)
    experiment.add_argument(
        "--paper-selection",
        action="store_true",
        help="pick the SVGPs' configurations on the test rows, as the paper did",
    )


def _add_claims(verbs: Any) -> None:
    claims = verbs.add_parser(
        "claims",
        help="which claims of the paper hold in a table of experiments",
        description="For each claim of the paper: holds here, does not hold here, or not tested "
        "here, with the figures.",
        allow_abbrev=False,
    )
    claims.add_argument(
        "results",
        type=Path,
        nargs="?",
        help="CSV file of `etgp-viz experiment` (default: the results that come with the package)",
    )
    claims.add_argument(
        "--paper-selection",
        action="store_true",
        help="pick the SVGPs' configurations on the test rows, as the paper did",
    )


def _add_course(verbs: Any) -> None:
    course = verbs.add_parser("course", help="build the course, or see how far a class has come")
    tasks = course.add_subparsers(dest="what", required=True, metavar="WHAT")
    build = tasks.add_parser(
        "build",
        help="notebooks for students and instructor, handouts, slides, and a ZIP of it all",
        allow_abbrev=False,
    )
    build.add_argument("--output", type=Path, default=Path("etgp-course"), help="where to")
    build.add_argument(
        "--handouts",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run the notebooks and make handouts and slides, which takes minutes",
    )
    times = tasks.add_parser("times", help="run the notebooks, and hold times against budgets")
    for parser in (build, times):
        words = "numbers of lessons, such as 01,06 (default: all)"
        parser.add_argument("--lessons", type=_words, default=(), help=words)
    progress = tasks.add_parser(
        "progress",
        help="join students' files NAME/progress.json or NAME.json into a table",
        description="One row for each student, to teach with. It is no secure grading.",
    )
    progress.add_argument("folder", type=Path, help="the folder with the files")
    progress.add_argument("--output", type=Path, help="CSV file with every exercise")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


if __name__ == "__main__":
    sys.exit(main())
