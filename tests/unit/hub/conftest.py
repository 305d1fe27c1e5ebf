"""A folder that other users can get to, unlike those of pytest."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def public_folder():
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
