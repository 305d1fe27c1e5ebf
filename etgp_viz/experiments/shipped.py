"""The results that come with the package: the laptop preset's table, and details of its runs."""

from __future__ import annotations

import gzip
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from etgp_viz.checks import fail
from etgp_viz.experiments.presets import grid
from etgp_viz.experiments.results import load, load_detail, whole_runs
from etgp_viz.experiments.selection import select
from etgp_viz.experiments.settings import CELL

__all__ = ["COMMAND", "closest_look", "reference", "reference_detail", "ship"]

FOLDER = Path(__file__).parents[1] / "reference"
TABLE, DETAILS = "experiments.csv", "experiment_details.json.gz"
COMMAND = "etgp-viz experiment --preset laptop"


def reference() -> pd.DataFrame:
    """The table that comes with the package; ``attrs`` has its ``command`` and ``machine``."""
    return load(FOLDER / TABLE)


def reference_detail(run_id: str) -> dict[str, Any]:
    """Details of a run of `reference`, as `etgp_viz.experiments.detail` has them.

    There are those of the chosen configuration of each cell with its first seed: `closest_look`.
    """
    details = _details()
    if run_id not in details:
        fail("run_id", f"one of the {len(details)} runs with details", repr(run_id))
    return details[run_id]


@lru_cache(maxsize=1)
def _details() -> dict[str, Any]:
    with gzip.open(FOLDER / DETAILS, "rt", encoding="utf-8") as file:
        return json.load(file)


def closest_look(table: pd.DataFrame) -> pd.DataFrame:
    """The row to look at of each cell: the chosen configuration's, with the smallest seed."""
    chosen = select(table).sort_values("seed", kind="stable")
    return chosen.drop_duplicates(list(CELL)).sort_index()


def ship(results: str | Path, folder: str | Path = FOLDER) -> tuple[Path, Path]:
    """Make the two files that come with the package from those of a grid.

    Rows of other runs than the preset's are left out. The first line keeps machine and versions;
    the command in it is `COMMAND`, with how many of its runs were finished. Reasons of failures
    lose their paths and addresses.

    Returns
    -------
    the table and the details
    """
    results, folder = Path(results), Path(folder)
    table = load(results)
    first, *lines = whole_runs(results).splitlines()
    wanted = {run.id for run in grid("laptop")}
    table = table[table["id"].isin(wanted)]
    done = set(table[table["status"] == "ok"]["id"])
    runs = f"{len(done)} of its {len(wanted)} runs"
    header = json.loads(first.removeprefix("# ")) | {"command": COMMAND, "runs": runs}
    names, *rows = lines
    kept = [_without_places(row) for row in rows if row.partition(",")[0] in wanted]
    text = "\n".join([f"# {json.dumps(header)}", names, *kept])
    (folder / TABLE).write_text(f"{text}\n", encoding="utf-8")
    details = {
        run_id: load_detail(results, run_id) for run_id in dict.fromkeys(closest_look(table)["id"])
    }
    packed = json.dumps(details, separators=(",", ":")).encode("utf-8")
    (folder / DETAILS).write_bytes(gzip.compress(packed, 9, mtime=0))
    return folder / TABLE, folder / DETAILS


def _without_places(line: str) -> str:
    """A line in which no word has two slashes: no path, no address."""
    return re.sub(r"[^\s,\"'(]*/[^\s,\"']*/[^\s,\"')]*", "…", line)
