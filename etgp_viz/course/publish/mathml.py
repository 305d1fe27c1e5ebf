r"""LaTeX of the lessons as MathML, which browsers draw by themselves, without a network.

It knows what mathematics in a notebook is written with: scripts, fractions, roots, accents, fences,
alphabets, matrices and aligned lines. What it does not know, it names in an error.
"""

import re
import unicodedata
from collections.abc import Iterator
from html import escape

__all__ = ["to_mathml"]

_TOKEN = re.compile(r"\\[a-zA-Z]+\*?|\\.|\d+(?:\.\d+)?|\s+|.", re.DOTALL)

_SMALL = (
    "alpha beta gamma delta zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon chi "
    "psi omega"
)
_CAPITAL = "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"


def _greek(names: str, kind: str) -> dict[str, str]:
    """Name in LaTeX → letter; Unicode calls one of them lamda."""
    return {
        name: unicodedata.lookup(f"GREEK {kind} LETTER {name.lower().replace('lambda', 'lamda')}")
        for name in names.split()
    }


_IDENTIFIERS = {
    **_greek(_SMALL, "SMALL"),
    **_greek(_CAPITAL, "CAPITAL"),
    "epsilon": "ϵ", "varepsilon": "ε", "phi": "ϕ", "varphi": "φ", "vartheta": "ϑ", "ell": "ℓ",
    "infty": "∞", "partial": "∂", "nabla": "∇", "emptyset": "∅", "top": "⊤", "Re": "ℜ",
    "prime": "′", "dots": "…", "ldots": "…", "cdots": "⋯", "vdots": "⋮", "ddots": "⋱", "%": "%",
    "_": "_", "&": "&", "#": "#", "$": "$",
}  # fmt: skip
_OPERATORS = {
    "cdot": "⋅", "times": "×", "pm": "±", "mp": "∓", "circ": "∘", "odot": "⊙", "otimes": "⊗",
    "oplus": "⊕", "ast": "∗", "star": "⋆", "setminus": "∖", "cup": "∪", "cap": "∩", "wedge": "∧",
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "ll": "≪", "gg": "≫",
    "approx": "≈", "sim": "∼", "simeq": "≃", "equiv": "≡", "propto": "∝", "in": "∈",
    "subset": "⊂", "subseteq": "⊆", "mid": "∣", "perp": "⊥", "parallel": "∥",
    "to": "→", "rightarrow": "→", "leftarrow": "←", "mapsto": "↦", "Rightarrow": "⇒",
    "Leftrightarrow": "⇔", "Longleftrightarrow": "⟺", "longmapsto": "⟼", "implies": "⇒",
    "iff": "⇔", "longrightarrow": "⟶", "Longrightarrow": "⟹", "forall": "∀",
    "exists": "∃", "langle": "⟨", "rangle": "⟩", "lVert": "‖", "rVert": "‖", "Vert": "‖",
    "|": "‖", "lvert": "|", "rvert": "|", "vert": "|", "{": "{", "}": "}", "colon": ":",
    "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "coloneqq": "≔", "succ": "≻",
    "succeq": "⪰", "int": "∫",
}  # fmt: skip
_LARGE = {"sum": "∑", "prod": "∏", "bigcup": "⋃", "bigcap": "⋂"}
_NAMED = (
    "arg arcsin arctan cos cosh det diag dim exp inf ker lim log ln max min Pr sin sinh sup tan "
    "tanh argmax argmin"
)
_FUNCTIONS = set(_NAMED.split())
_UNDER = {"lim", "max", "min", "sup", "inf", "argmax", "argmin", "det", "Pr"}
# No space between a function and these; the mark stands in until it is known what follows.
_OPENING = {"(", "[", "\\left", "\\big", "\\bigl", "\\Big", "\\Bigl", "\\{", None}
_TIGHT = ' rspace="0"'
_SPACES = {",": 0.17, ":": 0.22, ";": 0.28, "!": -0.17, " ": 0.25, "quad": 1.0, "qquad": 2.0}
_ACCENTS = {
    "hat": "^", "widehat": "^", "tilde": "~", "widetilde": "~", "bar": "¯", "overline": "¯",
    "vec": "→", "dot": "˙", "ddot": "¨",
}  # fmt: skip
_ALPHABETS = {
    "mathbf": "BOLD", "boldsymbol": "BOLD", "bm": "BOLD", "mathcal": "SCRIPT",
    "mathbb": "DOUBLE-STRUCK",
}  # fmt: skip
_UPRIGHT = {"mathrm", "operatorname", "operatorname*", "text", "textrm", "mathit", "mathsf"}
_SILENT = {"displaystyle", "textstyle", "limits", "nolimits", "nonumber", "notag"}
_SIZES = {name + end for name in ("big", "Big", "bigg", "Bigg") for end in ("", "l", "r", "m")}
_FENCES = {"pmatrix": "()", "bmatrix": "[]", "vmatrix": "||", "matrix": "  ", "cases": "{ "}
_ALIGNED = {"aligned", "align", "align*", "split", "gathered", "equation", "equation*", "array"}


def to_mathml(tex: str, display: bool = False) -> str:
    """A formula as a ``<math>`` element, which carries its LaTeX for whoever copies it."""
    row = _Parser(tex).formula()
    kind = ' display="block"' if display else ""
    note = f'<annotation encoding="application/x-tex">{escape(tex.strip())}</annotation>'
    return f"<math{kind}><semantics>{row}{note}</semantics></math>"


class _Parser:
    """Reads a formula from left to right; each method takes what it names, and returns MathML."""

    def __init__(self, tex: str) -> None:
        self.tex = tex
        self.tokens = _TOKEN.findall(tex)
        self.at = 0

    def formula(self) -> str:
        row = self.row(until=set())
        if self.at < len(self.tokens):
            raise self.error(f"a stray {self.tokens[self.at]!r}")
        return row

    def row(self, until: set[str]) -> str:
        """Everything up to one of the tokens in ``until``, as one element."""
        parts = []
        while self.peek() is not None and self.peek() not in {"}", *until}:
            parts.append(self.scripted())
        return f"<mrow>{''.join(parts)}</mrow>"

    def scripted(self) -> str:
        """One element with the scripts that follow it."""
        name = self.peek() or ""
        base = self.element()
        below = above = ""
        while (mark := self.peek()) in ("_", "^", "'"):
            self.take()
            if mark == "_":
                below = self.argument()
            else:
                more = "<mo>′</mo>" if mark == "'" else self.argument()
                above = f"<mrow>{above}{more}</mrow>" if above else more
        bare = name.lstrip("\\")
        if bare in _FUNCTIONS or bare in _UPRIGHT:
            base = base.replace(_TIGHT, _TIGHT if self.peek() in _OPENING else ' rspace="0.17em"')
        stacked = bare in _LARGE or bare in _UNDER or bare in ("underbrace", "overbrace")
        over, under = ("mover", "munder") if stacked else ("msup", "msub")
        if below and above:
            both = "munderover" if stacked else "msubsup"
            return f"<{both}>{base}{below}{above}</{both}>"
        if below:
            return f"<{under}>{base}{below}</{under}>"
        return f"<{over}>{base}{above}</{over}>" if above else base

    def argument(self) -> str:
        """One element; of a number, one digit, as LaTeX takes it."""
        token = self.peek() or ""
        if token[:1].isdigit() and len(token) > 1:
            self.tokens[self.at : self.at + 1] = [token[0], token[1:]]
        return self.element()

    def element(self) -> str:
        """One letter, number, operator, group or command."""
        token = self.take()
        if token == "{":
            inner = self.row(until=set())
            self.expect("}")
            return inner
        if token.startswith("\\"):
            return self.command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{escape(token)}</mi>"
        return _operator({"-": "−", "*": "∗", "~": "\u00a0"}.get(token, token))

    def command(self, name: str) -> str:
        if name in _IDENTIFIERS:
            return f"<mi>{escape(_IDENTIFIERS[name])}</mi>"
        if name in _OPERATORS:
            return _operator(_OPERATORS[name])
        if name in _LARGE:
            return f'<mo largeop="true" movablelimits="true">{_LARGE[name]}</mo>'
        if name in _FUNCTIONS:
            return _function(name)
        if name in _SPACES:
            return f'<mspace width="{_SPACES[name]}em"></mspace>'
        if name in _SILENT:
            return ""
        if name in _SIZES:
            return self.element()
        if name in ("frac", "tfrac", "dfrac"):
            return f"<mfrac>{self.argument()}{self.argument()}</mfrac>"
        if name == "binom":
            inner = f'<mfrac linethickness="0">{self.argument()}{self.argument()}</mfrac>'
            return f"<mrow><mo>(</mo>{inner}<mo>)</mo></mrow>"
        if name == "sqrt":
            return self.root()
        if name == "boxed":
            return f'<mrow class="boxed">{self.argument()}</mrow>'
        if name in _ACCENTS:
            return f'<mover accent="true">{self.argument()}<mo>{_ACCENTS[name]}</mo></mover>'
        if name in ("underbrace", "overbrace"):
            kind, brace = ("munder", "⏟") if name == "underbrace" else ("mover", "⏞")
            return f"<{kind}>{self.argument()}<mo stretchy='true'>{brace}</mo></{kind}>"
        if name in _ALPHABETS:
            return _letters(self.raw(), _ALPHABETS[name])
        if name in _UPRIGHT:
            return _upright(name, self.raw())
        if name == "left":
            return self.fenced()
        if name == "begin":
            return self.environment(self.raw())
        raise self.error(f"\\{name} is not known")

    def root(self) -> str:
        if self.peek() != "[":
            return f"<msqrt>{self.argument()}</msqrt>"
        self.take()
        degree = self.row(until={"]"})
        self.expect("]")
        return f"<mroot>{self.argument()}{degree}</mroot>"

    def fenced(self) -> str:
        opening = self.delimiter()
        inner = self.row(until={"\\right"})
        self.expect("\\right")
        return f"<mrow>{opening}{inner}{self.delimiter()}</mrow>"

    def delimiter(self) -> str:
        token = self.take()
        sign = _OPERATORS.get(token[1:], token) if token.startswith("\\") else token
        return "" if sign == "." else f'<mo fence="true" stretchy="true">{escape(sign)}</mo>'

    def environment(self, name: str) -> str:
        if name not in _FENCES and name not in _ALIGNED:
            raise self.error(f"\\begin{{{name}}} is not known")
        if name == "array":
            self.raw()  # how its columns are aligned
        rows, cells = [], []
        while True:
            cells.append(f"<mtd>{self.row(until={'&', chr(92) * 2, chr(92) + 'end'})}</mtd>")
            end = self.take()
            if end != "&":
                rows.append(f"<mtr>{''.join(cells)}</mtr>")
                cells = []
            if end == "\\end":
                break
        self.raw()
        if name in _ALIGNED:
            return f'<mtable class="aligned" displaystyle="true">{"".join(rows)}</mtable>'
        signs = (
            f'<mo fence="true" stretchy="true">{sign}</mo>' if sign != " " else ""
            for sign in _FENCES[name]
        )
        kind = ' class="cases"' if name == "cases" else ""
        return f"<mrow>{next(signs)}<mtable{kind}>{''.join(rows)}</mtable>{next(signs)}</mrow>"

    def raw(self) -> str:
        """What stands in braces (or the next token), as it is written."""
        if self.peek() != "{":
            return self.take()
        self.take()
        depth, parts = 1, []
        while depth:
            token = self.take(spaces=True)
            depth += {"{": 1, "}": -1}.get(token, 0)
            parts.append(token)
        return "".join(parts[:-1])

    def peek(self) -> str | None:
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, spaces: bool = False) -> str:
        if not spaces:
            self.peek()
        if self.at >= len(self.tokens):
            raise self.error("something is missing at its end")
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, token: str) -> None:
        if self.peek() != token:
            raise self.error(f"{token!r} is missing")
        self.take()

    def error(self, why: str) -> ValueError:
        return ValueError(f"formula: {why} in {self.tex.strip()!r}")


def _operator(sign: str) -> str:
    # A bar is as high as a letter unless \left or \right stretches it.
    plain = ' stretchy="false"' if sign in "()[]{}|‖∣⟨⟩" else ""
    return f"<mo{plain}>{escape(sign)}</mo>"


def _function(name: str) -> str:
    """The name of a function, which keeps its distance from what it is applied to."""
    return f'<mo lspace="0.17em"{_TIGHT}>{escape(name)}</mo>'


def _upright(name: str, text: str) -> str:
    if name.startswith("text"):
        # Spaces at the ends of an element would be lost.
        return f"<mtext>{escape(text).replace(' ', chr(160))}</mtext>"
    word = re.sub(r"\\[,;:! ]|\s", "", text)
    if name.startswith("operatorname"):
        return _function(word)
    return f'<mi mathvariant="normal">{escape(word)}</mi>'


def _letters(text: str, alphabet: str) -> str:
    """Letters and digits in another alphabet, each by its own character."""
    if text.startswith("\\"):  # a bold Greek letter
        text = _IDENTIFIERS.get(text[1:], text)
    letters = (_letter(letter, alphabet) for letter in text if not letter.isspace())
    return f"<mi>{''.join(letters)}</mi>"


def _letter(letter: str, alphabet: str) -> str:
    plain = unicodedata.name(letter).replace("LATIN ", "").replace("GREEK ", "")
    plain = plain.replace("LETTER ", "")
    for name in _names(plain, alphabet):
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    return letter


def _names(plain: str, alphabet: str) -> Iterator[str]:
    yield f"MATHEMATICAL {alphabet} {plain}"
    yield f"{alphabet} {plain}"  # some are older than their alphabet, such as ℝ and ℒ
