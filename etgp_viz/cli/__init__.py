"""The ``etgp-viz`` command."""
