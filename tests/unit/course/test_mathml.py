"""Formulas: parsed as XML, and compared with what they must be made of."""

import xml.etree.ElementTree as ET

import pytest

from etgp_viz.course.publish.mathml import to_mathml


def tree(tex: str, display: bool = False) -> ET.Element:
    """The row of the formula; parsing fails unless every element is closed."""
    return ET.fromstring(to_mathml(tex, display))[0][0]


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
        ("x'", "msup(mi:x, mi:′)"),
        ("f'^2", "msup(mi:f, (mi:′ mn:2))"),
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
        (r"\boldsymbol\theta", "mi:𝜽"),
        (r"\mathrm{d}x", "(mi:d mi:x)"),
        (r"\mathrm{KL}_W", "msub(mi:KL, mi:W)"),
        (r"F \sim \mathcal N", "(mi:F mo:∼ mi:𝒩)"),
        (r"x_1, \dots, x_N", "(msub(mi:x, mn:1) mo:, mi:… mo:, msub(mi:x, mi:N))"),
        ("f(g; h)", "(mi:f mo:( mi:g mo:; mi:h mo:))"),
        (r"\Lambda\lambda", "(mi:Λ mi:λ)"),
        (r"\hat\mu", "mover(mi:μ, mo:^)"),
        (r"\left(a\right.", "(mo:( mi:a mo)"),
        (r"\underbrace{a}_{b}", "munder(munder(mi:a, mo:⏟), mi:b)"),
        (r"\boxed{a}", "menclose(mi:a)"),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
         "(mo:( mtable(mtr(mtd(mn:1), mtd(mn:2)), mtr(mtd(mn:3), mtd(mn:4))) mo:))"),
        (r"\begin{aligned}a&=b\\&=c\end{aligned}",
         "mtable(mtr(mtd(mi:a), mtd(mi, mo:=, mi:b)), mtr(mtd, mtd(mi, mo:=, mi:c)))"),
        ("a < b", "(mi:a mo:< mi:b)"),
        ("-1.5", "(mo:− mn:1.5)"),
    ],
)  # fmt: skip
def test_a_formula_has_its_structure(tex, expected):
    assert skeleton(tree(tex)) == expected


def test_functions_keep_their_distance_but_not_from_parentheses():
    functions = [each for each in tree(r"\log x + \log(x)").iter("mo") if each.text == "log"]
    assert [each.get("rspace") for each in functions] == ["0.17em", "0"]


def test_limits_stand_above_and_below_where_there_is_room():
    """As in LaTeX, in a box and for a word such as max as well: the browser moves them aside."""
    for tex in (r"\sum_n x", r"\boxed{\sum_n x}", r"\max_n x", r"\operatorname*{argmax}_n x"):
        for display in (False, True):
            (under,) = tree(tex, display).iter("munder")
            assert under[0].get("movablelimits") == "true" or tex == r"\sum_n x"


def test_letters_of_an_alphabet_are_characters_and_no_attribute():
    """Browsers draw no other mathvariant than normal."""
    for tex in (r"\mathcal N", r"\mathbf{ab}", r"\mathbb E", r"\boldsymbol\theta", r"\bm x"):
        variants = {element.get("mathvariant") for element in tree(tex).iter()}
        assert variants == {None}, tex
        assert not set(skeleton(tree(tex))) & set("NbEθx")


def test_a_minus_after_a_bracket_is_a_sign():
    signs = [each.get("form") for each in tree("f(-1) = -a - b").iter("mo") if each.text == "−"]
    assert signs == ["prefix", "prefix", None]


def test_bars_are_close_and_as_large_as_asked():
    plain, big = tree(r"|x|")[0], tree(r"\Big|x\Big|^2")
    assert (plain.get("lspace"), plain.get("rspace")) == ("0", "0")
    assert [each.get("minsize") for each in big.iter("mo")] == ["1.623em"] * 2
    assert {each.get("stretchy") for each in big.iter("mo")} == {"true"}


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
        ("x_", "MissingSuperScriptOrSubscriptError in 'x_'"),
        (r"\left(a", "ExtraLeftOrMissingRightError in "),
        (r"\mathrm{a", "'}' is missing"),
        (r"\mathfoo{ab}", r"\\mathfoo is not known"),
        ("a & b", "& outside of a matrix"),
    ],
)
def test_what_cannot_be_read_is_named(tex, why):
    with pytest.raises(ValueError, match=why):
        to_mathml(tex)
