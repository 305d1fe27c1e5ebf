"""Docstrings as Markdown: text, sections of named things, examples."""

import re
from collections.abc import Iterable, Iterator

__all__ = ["one_line", "to_markdown"]

_HEADING = re.compile(r"^([A-Z][\w ]+)\n-{3,}\n", re.MULTILINE)
_CODE = re.compile(r"(``[^`]+``|`[^`]+`)")
_LISTS = ("Parameters", "Attributes", "Returns", "Yields", "Raises")


def to_markdown(doc: str) -> str:
    r"""A cleaned docstring as Markdown.

    >>> print(to_markdown("The sum.\n\nParameters\n----------\na, b : numbers\n    to add"))
    The sum.
    <BLANKLINE>
    **Parameters**
    <BLANKLINE>
    - `a`, `b`: numbers to add
    """
    text, *sections = _HEADING.split(doc.strip() + "\n")
    parts = [_prose(text)]
    for title, content in zip(sections[::2], sections[1::2], strict=True):
        body = _items(content) if title in _LISTS else _prose(content)
        parts += [f"**{title}**", body]
    return "\n\n".join(part for part in parts if part)


def one_line(doc: str) -> str:
    """The first sentence or line of a docstring, for tables."""
    return _inline(doc.strip().partition("\n\n")[0].replace("\n", " "))


def _prose(text: str) -> str:
    """Paragraphs, tables, indented formulas and examples."""
    return "\n\n".join(_blocks(text.strip("\n").splitlines()))


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    block: list[str] = []
    for line in (*lines, ""):
        if line.strip():
            block.append(line)
        elif block:
            yield _block(block)
            block = []


def _block(lines: list[str]) -> str:
    if lines[0].lstrip().startswith(">>> "):
        return "\n".join(["```pycon", *lines, "```"])
    if lines[0].startswith("    "):
        return "\n".join(["```text", *(line[4:] for line in lines), "```"])
    if lines[0].startswith("|"):
        return "\n".join(lines)
    return _inline(re.sub(r"::$", ":", "\n".join(lines)))


def _items(text: str) -> str:
    """``name : meaning`` with continuation lines, as a list; a line without a name as it is."""
    items: list[str] = []
    for line in text.strip("\n").splitlines():
        if line.startswith(" ") and items:
            items[-1] += f" {line.strip()}"
        elif line.strip():
            items.append(line)
    return "\n".join(f"- {_item(item)}" for item in items)


def _item(item: str) -> str:
    names, colon, meaning = item.partition(" : ")
    if not colon or not re.fullmatch(r"[\w*, ]+", names):
        return _inline(item)
    marked = ", ".join(f"`{name.strip()}`" for name in names.split(","))
    return f"{marked}: {_inline(meaning)}"


def _inline(text: str) -> str:
    """Escape what Markdown would read as HTML, formulas or bold type, outside of code."""
    parts = _CODE.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"<(?=[\w/!])", "&lt;", parts[i]).replace("$", r"\$")
        parts[i] = re.sub(r"(?<!\w)__(\w+)__", r"`__\1__`", parts[i])
    return "".join(parts)
