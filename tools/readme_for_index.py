"""The README as the package index shows it: links to files lead to the repository.

hatchling calls the hook when it builds a wheel or a source distribution.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|#)([^)\s]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Adds the README to the metadata of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = absolute_links(Path(self.root))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute_links(root: Path) -> str:
    """The README of a checkout; its pictures are raw files, its other links pages of the host."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    repository, _, branch = project["tool"]["etgp-viz"]["published"].partition("@")

    def lead(link: re.Match[str]) -> str:
        kind = "raw" if link[1] else "blob"
        return f"{link[1]}{link[2]}(https://github.com/{repository}/{kind}/{branch}/{link[3]})"

    return LINK.sub(lead, (root / "README.md").read_text(encoding="utf-8"))
