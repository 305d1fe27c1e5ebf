"""``python -m etgp_viz.cli`` runs the ``etgp-viz`` command."""

import sys

from etgp_viz.cli.main import main

sys.exit(main())
