"""``etgp-viz timing``: a race with its table, its sentences and its figure."""

from argparse import Namespace
from pathlib import Path

import pandas as pd

from etgp_viz import timing
from etgp_viz.checks import fail
from etgp_viz.files import probe, replacing, write

__all__ = ["format_table", "print_report", "save_figure"]

#: column → its heading
COLUMNS = {
    "model": "model",
    "classes": "C",
    "step": "step (ms)",
    "step_low": "25 %",
    "step_high": "75 %",
    "prediction": "PE (ms)",
    "prediction_error": "MC error of p",
    "prediction_ba": "BA (ms)",
    "first_step": "first step (s)",
    "memory": "memory (MiB)",
    "operations": "operations",
    "rounds": "rounds",
    "status": "status",
}


def print_report(options: Namespace) -> int:
    """Run the race that the options describe, and return the exit status."""
    try:
        if options.picture is not None:
            _check_picture(options.picture)
        table = timing.sweep(
            options.models,
            options.classes,
            num_data=options.num_data,
            num_inducing=options.num_inducing,
            num_inputs=options.num_inputs,
            repeats=options.repeats,
            sessions=options.sessions,
            budget=options.budget,
            memory=options.memory,
            memory_limit=options.memory_limit,
            time_limit=None if options.minutes is None else 60.0 * options.minutes,
            out=options.out,
            resume=options.resume,
        )
    except KeyboardInterrupt:
        if options.out is not None:
            print(f"\nStopped. The same command with --resume continues {options.out}.")
        return 130
    print(format_table(table))
    print(*timing.describe(table), sep="\n")
    if options.picture is not None:
        save_figure(table, options.picture)
        print(f"Picture: {options.picture}")
    return 0


def format_table(table: pd.DataFrame) -> str:
    """The table as text: milliseconds, one line per model and size."""
    shown = table[list(COLUMNS)].copy()
    for axis, symbol in (("num_data", "N"), ("num_inducing", "M")):
        if table[axis].nunique() > 1:
            shown.insert(2, symbol, table[axis])
    for name in ("step", "step_low", "step_high", "prediction", "prediction_ba"):
        shown[name] = (1e3 * shown[name]).map("{:.1f}".format)
    shown["prediction_error"] = shown["prediction_error"].map("{:.1g}".format)
    shown["first_step"] = shown["first_step"].map("{:.1f}".format)
    shown["memory"] = shown["memory"].map("{:.0f}".format)
    shown["operations"] = shown["operations"].map("{:.1e}".format)
    return shown.rename(columns=COLUMNS).to_string(index=False).replace(" nan", "   –")


def save_figure(table: pd.DataFrame, path: Path) -> None:
    """Write the step times with the fitted cost model: HTML that needs no network, PNG or SVG."""
    curves = timing.curves(table, over=_longest_axis(table), fit=True)
    if path.suffix == ".html":
        from etgp_viz.figures import timing as interactive

        write(path, interactive.make(curves).to_html(include_plotlyjs=True))
        return
    from etgp_viz.figures.print import timing as print_timing

    machine = table.attrs["machine"]
    caption = f"{machine['processor']}, {machine['cores']} cores; dotted: fitted cost model"
    with replacing(path) as file:
        print_timing.draw(curves, caption).savefig(file, format=path.suffix[1:], dpi=150)


def _longest_axis(table: pd.DataFrame) -> str:
    """The axis with the most values, C if in doubt."""
    return max(("classes", "num_inducing", "num_data"), key=lambda axis: table[axis].nunique())


def _check_picture(path: Path) -> None:
    """Refuse, before the race, a file that cannot be drawn or written after it."""
    if path.suffix not in (".png", ".svg", ".html"):
        fail("picture", "a .png, .svg or .html file", path.name)
    probe(path, "picture")
