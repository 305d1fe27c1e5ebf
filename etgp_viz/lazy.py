"""Names that a package offers without importing their modules before they are used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["homes", "lazy_names"]


def homes(listing: str) -> dict[str, str]:
    """Name → ``"module:name"``, from lines that list the names of each module.

    >>> homes("core.model: ETGP")
    {'ETGP': 'core.model:ETGP'}
    """
    by_name: dict[str, str] = {}
    for line in listing.strip().splitlines():
        module, _, names = line.strip().partition(": ")
        by_name |= {name: f"{module}:{name}" for name in names.split()}
    return by_name


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package whose names are looked up when first used.

    Parameters
    ----------
    package : the package's ``__name__``
    homes : name → ``"module:name"``, or ``"module"`` for a module, anywhere below etgp_viz

    Returns
    -------
    both functions, to be assigned in the package
    """

    def look_up(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module_name, _, attribute = homes[name].partition(":")
        module = import_module(f"{__package__}.{module_name}")
        return getattr(module, attribute) if attribute else module

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return look_up, names
