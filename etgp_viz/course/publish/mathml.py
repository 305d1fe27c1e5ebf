r"""LaTeX formulas as MathML, which browsers draw without a script and without a network.

latex2mathml converts them. This module raises errors where latex2mathml would silently write
something else, and corrects what browsers (MathML Core) do not draw as LaTeX does: alphabets given
as an attribute, limits, and the space around names, bars and signs.
"""

import html
import re
import unicodedata
from itertools import pairwise, zip_longest
from xml.etree.ElementTree import Element, SubElement, tostring

from latex2mathml import commands
from latex2mathml.converter import convert_to_element
from latex2mathml.symbols_parser import SYMBOLS

__all__ = ["to_mathml"]

_COMMAND = re.compile(r"\\(?:[a-zA-Z]+|.)", re.DOTALL)
_ENVIRONMENT = re.compile(r"\\begin\s*{(.*?)}")
_KNOWN = {
    *SYMBOLS,
    *commands.CONVERSION_MAP,
    *commands.LOCAL_FONTS,
    *commands.GLOBAL_FONTS,
    *commands.FUNCTIONS,
    *(value for value in vars(commands).values() if isinstance(value, str)),
}
_SCRIPTED = {"msub", "msup", "msubsup", "munder", "mover", "munderover"}
_WITH_LIMITS = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
_LIMITED = {"∑", "∏", "⋃", "⋂", "max", "min", "sup", "inf", "lim", "argmax", "argmin"}
_TAGS = {";": "mo", ":": "mo", "…": "mi"}  # a space follows punctuation, but not dots
_OPENING = {"(", "[", "{"}


def to_mathml(tex: str, display: bool = False) -> str:
    r"""A formula as a ``<math>`` element that carries its LaTeX for whoever copies it.

    ``tex`` has no dollar signs; with ``display`` the formula is on its own line. A formula that
    cannot be converted is a ValueError that names the reason.

    >>> to_mathml("x^2")[:52]
    '<math><semantics><mrow><msup><mi>x</mi><mn>2</mn></m'
    >>> to_mathml(r"\sinhh x")
    Traceback (most recent call last):
    ValueError: formula: \sinhh is not known in '\\sinhh x'
    """
    tex = tex.strip()
    _check(tex)
    try:
        math = convert_to_element(_prepared(tex), display="block" if display else "inline")
    except Exception as error:  # its exceptions have no common class and no message
        raise _error(type(error).__name__, tex) from error
    math.attrib = {"display": "block"} if display else {}
    (row,) = math
    for element in row.iter():
        if element.text == "&":
            raise _error("& outside of a matrix", tex)
        element.text = html.unescape(element.text or "") or None
        _use_letters(element)
        _correct_symbol(element)
    for element in list(row.iter()):
        if element.tag in _SCRIPTED:
            _correct_scripts(element)
        else:
            _space_functions(element)
            _correct_signs(element)
            _join_upright_letters(element)
    math.remove(row)
    semantics = SubElement(math, "semantics")
    semantics.append(row)
    SubElement(semantics, "annotation", encoding="application/x-tex").text = tex
    return tostring(math, encoding="unicode", short_empty_elements=False)


def _check(tex: str) -> None:
    """Refuse what latex2mathml lets pass: unknown names and unbalanced braces."""
    for command in _COMMAND.findall(tex):
        if command[1:].isalpha() and command not in _KNOWN:
            raise _error(f"{command} is not known", tex)
    for name in _ENVIRONMENT.findall(tex):
        if name != "aligned" and f"\\{name}" not in commands.MATRICES:
            raise _error(f"\\begin{{{name}}} is not known", tex)
    depth = 0
    for brace in re.findall("[{}]", _COMMAND.sub("", tex)):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            raise _error("a stray '}'", tex)
    if depth:
        raise _error("'}' is missing", tex)


def _prepared(tex: str) -> str:
    r"""LaTeX that latex2mathml reads as meant: \split for aligned, and \mathrm{d} upright."""
    tex = re.sub(r"(\\(?:begin|end)\s*){aligned}", r"\1{split}", tex)
    # Without the space, the upright alphabet of a single letter would be forgotten.
    return re.sub(r"\\mathrm\s*{(\w)}", r"\\mathrm{ \1}", tex)


def _use_letters(element: Element) -> None:
    """Replace an alphabet given as an attribute, such as script, by its own characters."""
    alphabet = element.get("mathvariant", "normal")
    if alphabet != "normal" and element.text:
        element.text = "".join(_letter(letter, alphabet) for letter in element.text)
        del element.attrib["mathvariant"]


def _letter(letter: str, alphabet: str) -> str:
    plain = re.sub("LATIN |GREEK |LETTER ", "", unicodedata.name(letter))
    name = f"{alphabet.replace('bold-italic', 'bold italic').upper()} {plain}"
    # Some are older than their alphabet, such as ℝ and ℒ.
    for candidate in (f"MATHEMATICAL {name}", name):
        try:
            return unicodedata.lookup(candidate)
        except KeyError:
            continue
    return letter


def _correct_symbol(element: Element) -> None:
    """Give a symbol the space and the size that LaTeX gives it."""
    if element.tag in ("mi", "mo") and element.text in _TAGS:
        element.tag = _TAGS[element.text]
    if element.tag == "mi" and element.text == "~":  # \sim
        element.tag, element.text = "mo", "∼"
    if "minsize" in element.attrib:  # \big and its like
        element.set("stretchy", "true")
    if "minsize" in element.attrib or element.text in ("|", "‖"):
        element.attrib.update(lspace="0", rspace="0")


def _correct_scripts(element: Element) -> None:
    r"""Put the limits of a sum below and above it where there is room, and keep \big| big."""
    base = next(iter(element), element)
    if element.tag in _WITH_LIMITS and base.text in _LIMITED:
        element.tag = _WITH_LIMITS[element.tag]
        base.set("movablelimits", "true")
    if "minsize" in base.attrib:
        element[0] = Element("mrow")  # a row stretches its contents, a script does not
        element[0].append(base)


def _space_functions(row: Element) -> None:
    r"""Set names such as \log apart from what they are applied to, but not from a bracket."""
    for child, following in zip_longest(row, row[1:]):
        name = next(iter(child), child) if child.tag in _SCRIPTED else child
        if name.tag in ("mi", "mo") and re.fullmatch("[A-Za-z]{2,}", name.text or ""):
            name.tag = "mo"
            opening = following is None or (following.text or following.findtext("mo")) in _OPENING
            name.attrib.update(lspace="0.17em", rspace="0" if opening else "0.17em")


def _correct_signs(row: Element) -> None:
    """Mark a minus or plus after an operator or an opening bracket as a sign."""
    for child, following in pairwise(row):
        before_a_sign = child.tag == "mo" and child.text not in (")", "]", "}", "|", "!")
        if before_a_sign and following.text in ("−", "+"):
            following.set("form", "prefix")


def _join_upright_letters(row: Element) -> None:
    r"""Join the letters of \mathrm into one word."""
    if len(row) > 1 and all(letter.get("mathvariant") == "normal" for letter in row):
        word = "".join(letter.text or "" for letter in row)
        row[:] = [Element("mi")]
        row[0].text = word


def _error(reason: str, tex: str) -> ValueError:
    return ValueError(f"formula: {reason} in {tex!r}")
