"""Main formulas beside their pictures: pointing at a term lights up its part, and vice versa.

Style sheets do it alone, so it works in a notebook, in a handout and on a slide, with or without a
kernel, and for whoever moves from term to term with the Tab key.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import ipywidgets as widgets
import numpy as np
from scipy.special import softmax
from scipy.stats import norm

from etgp_viz.course.publish.mathml import to_mathml
from etgp_viz.course.small_figures import BLUE, GREEN, ORANGE, RED, curves, pixels, units
from etgp_viz.figures import style

__all__ = ["Formula", "Term", "bound", "pivot", "proposition_1"]

_numbers = count(1)  # of the formulas of a page, for ids


@dataclass(frozen=True)
class Term:
    """A part of a formula: its LaTeX, and what it is called and means."""

    tex: str
    name: str = ""  # "" for what only joins terms, such as an equals sign
    meaning: str = ""


class Formula(widgets.HTML):
    """A formula whose terms light up their part of the picture when they are hovered or focused.

    Parameters
    ----------
    terms : from left to right; the first that has a name is lit until another one is
    picture : HTML in which each part carries the name of its term as ``data-term``
    """

    def __init__(self, terms: Sequence[Term], picture: str) -> None:
        self.terms, self.picture = tuple(terms), picture
        self._number = next(_numbers)
        super().__init__(self.page)

    @property
    def named(self) -> tuple[Term, ...]:
        """The terms that can be lit."""
        return tuple(term for term in self.terms if term.name)

    @property
    def page(self) -> str:
        """The formula, its picture and the sentences about its terms, as HTML."""
        written = "".join(map(self._written, self.terms))
        meanings = "".join(
            f"<p id='{self._id(term)}' data-term='{term.name}'>{html.escape(term.meaning)}</p>"
            for term in self.named
        )
        return (
            f"<div class='etgp-formula'><style>{self._styles()}</style>"
            f"<div class='terms'>{written}</div><div class='parts'>{self.picture}</div>"
            f"<div role='status'>{meanings}</div></div>"
        )

    def _id(self, term: Term) -> str:
        return f"formula-{self._number}-{self.named.index(term)}"

    def _written(self, term: Term) -> str:
        formula = to_mathml(term.tex)
        if not term.name:
            return f"<span>{formula}</span>"
        return (
            f"<button type='button' data-term='{term.name}' title='{term.name}' "
            f"aria-describedby='{self._id(term)}'>{formula}</button>"
        )

    def _styles(self) -> str:
        """Rules that light a term: under the pointer, else with the focus, else the first."""
        lit, shown, marked = [], [], []
        for place, term in enumerate(self.named):
            part = f"[data-term='{term.name}']"
            states = [f":has({part}:hover)", f":not(:has([data-term]:hover)):has({part}:focus)"]
            states += [":not(:has([data-term]:hover, [data-term]:focus))"] * (place == 0)
            for state in states:
                lit.append(f".etgp-formula{state} .parts {part}")
                shown.append(f".etgp-formula{state} p{part}")
                marked.append(f".etgp-formula{state} button{part}")
        return (
            f"{_STYLES}{', '.join(lit)} {{--seen: 1; border-color: {RED}; --lit: {RED}}}"
            f"{', '.join(shown)} {{display: block}}"
            f"{', '.join(marked)} {{background: #f0e442; color: #000; border-color: {RED}}}"
        )


_STYLES = """
.etgp-formula .terms {font-size: 1.35em; line-height: 2; margin: 0.3em 0}
.etgp-formula .terms > span {padding: 0 0.15em}
.etgp-formula button {font: inherit; color: inherit; background: none; border: none; cursor: help;
  border-bottom: 3px dotted gray; padding: 0 0.25em; margin: 0 0.1em; border-radius: 3px}
.etgp-formula .parts {display: flex; flex-wrap: wrap; gap: 0.6em 1em; align-items: center}
.etgp-formula figure {margin: 0; padding: 4px; border: 3px solid transparent; max-width: 100%}
.etgp-formula figcaption {text-align: center; font-size: 0.95em}
.etgp-formula .parts [data-term] {--seen: 0.35}
.etgp-formula .parts :is(svg [data-term], figure > :not(figcaption)) {opacity: var(--seen)}
.etgp-formula p {display: none; margin: 0.4em 0; min-height: 3em; max-width: 50em}
@media print {.etgp-formula .parts [data-term] {--seen: 1}
  .etgp-formula p {display: block; min-height: 0}}
"""


def _part(name: str, picture: str, caption: str) -> str:
    """A picture of its own for a term."""
    below = f"<figcaption>{caption}</figcaption>"
    return f"<figure data-term='{name}'>{picture}{below}</figure>"


def proposition_1() -> Formula:
    """Lesson 04: the covariance of two classes, each factor as a matrix over x and x′."""
    x = np.linspace(-3.0, 3.0, 24)
    first, second = 0.2 + 0.8 * (x + 3.0) / 6.0, 0.3 + 0.7 * np.exp(-(x**2) / 3.0)
    kernel = np.exp(-0.5 * (x[:, None] - x) ** 2)
    rows, columns = np.tile(first[:, None], 24), np.tile(second, (24, 1))
    matrices = [
        ("covariance", rows * kernel * columns, "the covariance, a band whose strength changes"),
        ("scale of c", rows, "a matrix whose rows become darker downwards"),
        ("scale of d", columns, "a matrix whose middle columns are dark"),
        ("kernel", kernel, "a dark band along the diagonal"),
    ]
    signs = ("=", "·", "·", "")
    picture = "".join(
        _part(name, pixels(values, words, 150), name) + f"<b>{sign}</b>"
        for (name, values, words), sign in zip(matrices, signs, strict=True)
    )
    return Formula(
        [
            Term(
                r"\mathrm{Cov}[f^c(x), f^d(x')]",
                "covariance",
                "How class c at x varies with class d at x′: the other three matrices, "
                "multiplied entry by entry. Down: x; across: x′; dark is large.",
            ),
            Term("="),
            Term(
                "a^c(x)",
                "scale of c",
                "How strongly class c amplifies f₀ at x. It is the same all along a row.",
            ),
            Term(
                "a^d(x')",
                "scale of d",
                "How strongly class d amplifies f₀ at x′. It is the same all along a column.",
            ),
            Term(
                "k(x, x')",
                "kernel",
                "How much f₀ at x has to do with f₀ at x′. It is the same along each diagonal: "
                "this kernel is stationary, and the product of all three is not.",
            ),
        ],
        picture,
    )


def pivot() -> Formula:
    """Lesson 04: from the pivot f¹ = 2·f₀ to f² = 1 − f₀, step by step."""
    f0 = np.linspace(-3.0, 3.0, 61)
    lines = [("f¹ = 2f₀", 2.0 * f0, BLUE), ("f² = 1 − f₀", 1.0 - f0, ORANGE)]
    low, high, width, height = -6.5, 6.5, 520.0, 260.0

    def at(value: float, result: float) -> tuple[float, float]:
        across = 10 + (width - 90) * (value + 3.0) / 6.0
        return across, height - 10 - (height - 20) * (result - low) / (high - low)

    def step(name: str, label: str, *ends: tuple[float, float]) -> str:
        (x1, y1), (x2, y2) = (at(*end) for end in ends)
        below = 20 if x2 < x1 else -8
        beside = f"x='{(x1 + x2) / 2 + 10:.0f}' y='{(y1 + y2) / 2 + below:.0f}'"
        colour = "var(--lit, currentColor)"
        return (
            f"<g data-term='{name}'><path d='M{x1:.1f},{y1:.1f}L{x2:.1f},{y2:.1f}' fill='none' "
            f"stroke-width='4' stroke='{colour}'/>"
            f"<circle cx='{x2:.1f}' cy='{y2:.1f}' r='5' fill='{colour}'/>"
            f"<text {beside} font-family='sans-serif' font-size='15' font-weight='bold' "
            f"fill='{colour}'>{label}</text></g>"
        )

    steps = [
        step("pivot", "f¹ = 4", (-3.0, 4.0), (2.0, 4.0)),
        step("undo", "f₀ = 2", (2.0, 4.0), (2.0, 0.0)),
        step("bend again", "", (2.0, 0.0), (2.0, -1.0)),
        step("result", "f² = −1", (2.0, -1.0), (-3.0, -1.0)),
    ]
    words = "two lines over f₀, and the way from one to the other"
    plain = curves(f0, lines, words, (low, high), width, height)
    return Formula(
        [
            Term("f^2(x)", "result", "What follows: f² = −1. Nothing random is left."),
            Term("="),
            Term("G^2", "bend again", "The second flow takes f₀ = 2 to f² = 1 − 2 = −1."),
            Term(r"\big("),
            Term(
                "(G^1)^{-1}",
                "undo",
                "The inverse of the first flow: f¹ = 4 can only come from f₀ = 2.",
            ),
            Term(r"\big("),
            Term(
                "f^1(x)",
                "pivot",
                "The value that is known, here f¹ = 4: go across to the blue line.",
            ),
            Term(r"\big)\big)"),
        ],
        plain.replace("</svg>", f"{''.join(steps)}</svg>"),
    )


def bound() -> Formula:
    """Lesson 05: the three parts of the ELBO."""
    x = np.linspace(-3.0, 3.0, 121)
    p = softmax(np.stack([2.5 * np.sin(x), 0.3 - x, x - 0.8], axis=1), axis=1)
    labels = np.argmax(p, axis=1)
    lines = [(f"class {c + 1}", p[:, c], (BLUE, ORANGE, GREEN)[c]) for c in range(3)]
    marks = "".join(
        f"<circle cx='{10 + 230 * i / 120:.0f}' cy='{150 - 140 * p[i, labels[i]]:.0f}' r='4' "
        f"fill='{RED}'/>"
        for i in range(6, 121, 12)
    )
    fit = curves(x, lines, "class probabilities, and dots at the labels", (0.0, 1.0), 320, 160)
    z = np.linspace(-4.0, 4.0, 161)
    beliefs = [("prior p", norm.pdf(z), style.NEUTRAL), ("belief q", norm.pdf(z, 1.5, 0.6), RED)]
    moved = curves(z, beliefs, "a prior, and a belief that has moved", (-0.1, 0.75), 300, 160)
    on = np.array([0, 0, 1, 1, 0])
    network = units([np.ones(1), on, np.ones(1)], "a network with units switched off", 260, 160)
    picture = (
        _part("fit", fit.replace("</svg>", f"{marks}</svg>"), "fit of the labels")
        + _part("price of the belief", moved, "belief and prior")
        + _part("price of the network", network, "network with some units off")
    )
    return Formula(
        [
            Term(r"\mathrm{ELBO} ="),
            Term(
                r"\sum_{n} \mathrm E\big[\log \pi^{y_n}(x_n)\big]",
                "fit",
                "How much probability the labels get, on average over what is believed about f₀: "
                "the height of the red dots.",
            ),
            Term("-"),
            Term(
                r"\mathrm{KL}[q(u_0)\,\|\,p(u_0)]",
                "price of the belief",
                "How far the belief about the inducing values has moved from the prior. It is "
                "paid once, whatever C is.",
            ),
            Term("-"),
            Term(
                r"\mathrm{KL}_W",
                "price of the network",
                "The weight decay of the network that outputs the parameters of the flows.",
            ),
        ],
        picture,
    )
