"""Formulas: parsed as XML, and compared with what they must be made of."""

import xml.etree.ElementTree as ET

import pytest

from etgp_viz.course.publish.mathml import to_mathml


def tree(tex: str) -> ET.Element:
    """The row of the formula; parsing fails unless every element is closed."""
    return ET.fromstring(to_mathml(tex))[0][0]


def skeleton(element: ET.Element) -> str:
    """Elements without rows, as in msub(mi:K, mn:1)."""
    text = (element.text or "").strip()
    if len(element) == 0:
        return f"{element.tag}:{text}" if text else element.tag
    parts = [skeleton(part) for part in element]
    if element.tag == "mrow":
        return parts[0] if len(parts) == 1 else f"({' '.join(parts)})"
    return f"{element.tag}({', '.join(parts)})"


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        ("K_{zz}", "msub(mi:K, (mi:z mi:z))"),
        ("x_n^2", "msubsup(mi:x, mi:n, mn:2)"),
        ("x^2_n", "msubsup(mi:x, mi:n, mn:2)"),
        ("x'", "msup(mi:x, mo:′)"),
        ("f'^2", "msup(mi:f, (mo:′ mn:2))"),
        (r"\frac12", "mfrac(mn:1, mn:2)"),
        ("x^10", "(msup(mi:x, mn:1) mn:0)"),
        (r"\frac{a}{b}", "mfrac(mi:a, mi:b)"),
        (r"\sqrt{2\pi}", "msqrt((mn:2 mi:π))"),
        (r"\sqrt[3]{x}", "mroot(mi:x, mn:3)"),
        (r"\sum_{n=1}^N", "munderover(mo:∑, (mi:n mo:= mn:1), mi:N)"),
        (r"\max_c f", "(munder(mo:max, mi:c) mi:f)"),
        (r"\mathcal N", "mi:𝒩"),
        (r"\mathcal{L}", "mi:ℒ"),
        (r"\mathbb{R}^D", "msup(mi:ℝ, mi:D)"),
        (r"\mathbf{K}", "mi:𝐊"),
        (r"\boldsymbol\theta", "mi:𝛉"),
        (r"\Lambda\lambda", "(mi:Λ mi:λ)"),
        (r"\hat\mu", "mover(mi:μ, mo:^)"),
        (r"\left(a\right.", "(mo:( mi:a)"),
        (r"\underbrace{a}_{b}", "munder(munder(mi:a, mo:⏟), mi:b)"),
        (r"\boxed{a}", "mi:a"),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
         "(mo:( mtable(mtr(mtd(mn:1), mtd(mn:2)), mtr(mtd(mn:3), mtd(mn:4))) mo:))"),
        (r"\begin{aligned}a&=b\\&=c\end{aligned}",
         "mtable(mtr(mtd(mi:a), mtd((mo:= mi:b))), mtr(mtd(mrow), mtd((mo:= mi:c))))"),
        ("a < b", "(mi:a mo:< mi:b)"),
        ("-1.5", "(mo:− mn:1.5)"),
    ],
)  # fmt: skip
def test_a_formula_has_its_structure(tex, expected):
    assert skeleton(tree(tex)) == expected


def test_functions_keep_their_distance_but_not_from_parentheses():
    functions = [each for each in tree(r"\log x + \log(x)").iter("mo") if each.text == "log"]
    assert [each.get("rspace") for each in functions] == ["0.17em", "0"]


def test_words_keep_their_spaces():
    assert tree(r"\text{if } x")[0].text == "if\u00a0"


def test_the_latex_goes_with_it():
    assert r"<annotation encoding=" in to_mathml(r"a\,b")
    assert r"a\,b</annotation>" in to_mathml(r"a\,b")
    assert to_mathml("a", display=True).startswith('<math display="block">')


@pytest.mark.parametrize(
    ("tex", "why"),
    [
        (r"\sinhh x", r"\\sinhh is not known"),
        (r"\begin{tikz}a\end{tikz}", r"\\begin\{tikz\} is not known"),
        ("{a", "'}' is missing"),
        ("a}", "a stray '}'"),
        ("x_", "missing at its end"),
        (r"\left(a", r"'\\\\right' is missing"),
        (r"\mathrm{a", "missing at its end"),
    ],
)
def test_what_cannot_be_read_is_named(tex, why):
    with pytest.raises(ValueError, match=why):
        to_mathml(tex)
