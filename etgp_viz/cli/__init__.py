"""The ``etgp-viz`` command."""

from etgp_viz.cli.main import main

__all__ = ["main"]
