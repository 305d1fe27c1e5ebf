"""The only writers of the package: files replaced in one move, checkpoints, tables that grow."""

from etgp_viz.files.checkpoint import Checkpoint
from etgp_viz.files.growing_table import GrowingTable, TableContents, csv_line
from etgp_viz.files.spreadsheet import cell_text, spreadsheet
from etgp_viz.files.whole import (
    UNREADABLE,
    create,
    locked,
    probe,
    read_arrays,
    read_bytes,
    reason,
    replacing,
    write,
    write_arrays,
)

__all__ = [
    "UNREADABLE",
    "Checkpoint",
    "GrowingTable",
    "TableContents",
    "cell_text",
    "create",
    "csv_line",
    "locked",
    "probe",
    "read_arrays",
    "read_bytes",
    "reason",
    "replacing",
    "spreadsheet",
    "write",
    "write_arrays",
]
