"""The few verbs that a person types. Nothing heavy is imported before a verb is known."""

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path


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
    # A tick that the terminal cannot spell must not end the program.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    options, rest = parser.parse_known_args(argv)

    if options.verb == "lab":
        from etgp_viz import lab as lab_module

        return lab_module.start(options.folder, rest)
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    from etgp_viz import doctor

    return doctor.print_report()
