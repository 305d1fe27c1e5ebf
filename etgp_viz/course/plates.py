"""The two graphical models of lesson 04: what is drawn once, and what once for each class."""

import ipywidgets as widgets

from etgp_viz.course.small_figures import BLUE, svg
from etgp_viz.figures import style

__all__ = ["two_models"]

ALT = (
    "Two graphical models. Left, the naive TGP: latent, flow and class process are inside a plate, "
    "which is repeated for each of C classes. Right, ETGP: the latent is outside the plate, and "
    "only flow and class process are inside it. In both, all C class processes lead to one label."
)
_TEXT = "font-family='sans-serif' fill='currentColor' text-anchor='middle'"


def two_models() -> widgets.HTML:
    """The naive TGP beside ETGP, as plates: the latent inside the plate, and outside of it.

    Examples
    --------
    >>> two_models().value.count("c = 1, …, C")
    2
    """
    naive = _model(0, "naive TGP: C GPs, C flows", "f₀ᶜ", plate=10)
    shared = _model(330, "ETGP: one GP, C flows", "f₀", plate=105)
    return widgets.HTML(svg(640, 260, naive + shared, ALT))


def _model(x: float, title: str, latent: str, plate: float) -> str:
    """One graphical model at x, whose plate begins at that distance."""
    y, latent_at, class_at, label_at = 120, 50, 165, 262
    flow = (
        f"<rect x='{x + class_at - 18}' y='172' width='36' height='30' fill='none' "
        f"stroke='currentColor' stroke-width='1.5'/>"
        f"<text x='{x + class_at}' y='192' font-size='14' {_TEXT}>Gᶜ</text>"
    )
    return (
        f"<text x='{x + 145}' y='20' font-size='15' font-weight='bold' {_TEXT}>{title}</text>"
        f"<rect x='{x + plate}' y='55' width='{215 - plate}' height='190' rx='10' fill='none' "
        f"stroke='{BLUE}' stroke-width='2.5'/>"
        f"<text x='{x + class_at}' y='232' font-size='13' {_TEXT}>c = 1, …, C</text>"
        f"<text x='{x + latent_at}' y='86' font-size='13' {_TEXT}>latent</text>"
        f"<text x='{x + class_at}' y='86' font-size='13' {_TEXT}>class</text>"
        f"<text x='{x + label_at}' y='86' font-size='13' {_TEXT}>label</text>"
        f"{_arrow(x + latent_at + 22, y, x + class_at - 22, y)}"
        f"{_arrow(x + class_at + 22, y, x + label_at - 22, y)}"
        f"{_arrow(x + class_at, 172, x + class_at, y + 22)}{flow}"
        f"{_circle(x + latent_at, y, latent)}{_circle(x + class_at, y, 'fᶜ')}"
        f"{_circle(x + label_at, y, 'y', seen=True)}"
    )


def _circle(x: float, y: float, name: str, seen: bool = False) -> str:
    """A random quantity; one that is observed is shaded."""
    fill = f"fill='{style.NEUTRAL}' fill-opacity='0.35'" if seen else "fill='none'"
    return (
        f"<circle cx='{x}' cy='{y}' r='22' {fill} stroke='currentColor' stroke-width='1.5'/>"
        f"<text x='{x}' y='{y + 5}' font-size='15' {_TEXT}>{name}</text>"
    )


def _arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight arrow to the right, or up."""
    head = "l-8,-4v8z" if y1 == y2 else "l-4,8h8z"
    return (
        f"<path d='M{x1},{y1}L{x2},{y2}' stroke='currentColor' stroke-width='1.5'/>"
        f"<path d='M{x2},{y2}{head}' fill='currentColor'/>"
    )
