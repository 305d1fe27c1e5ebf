"""The reference: every public name with its docstring, and every command with its options."""

import contextlib
import dataclasses
import importlib
import inspect
import io
import os
import pkgutil
import re
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import etgp_viz
from etgp_viz import records
from tools.site.docstrings import one_line, to_markdown
from tools.site.sources import ROOT, repository, toctree

__all__ = [
    "commands",
    "example_of",
    "example_of_member",
    "index",
    "modules",
    "names",
    "page",
    "verbs",
]

#: Public names that no reader calls, or that are libraries.
LEFT_OUT = ("backend", "records")
_EXAMPLE = ">>> "
DOCS = ROOT / "docs"


def modules() -> dict[str, tuple[ModuleType, list[str]]]:
    """Name under which users know a module → the module and its public names, in reading order."""
    top = [name for name, home in etgp_viz._HOMES.items() if ":" in home]
    found = {"etgp_viz": (etgp_viz, top)}
    shown = set()
    for name, home in etgp_viz._HOMES.items():
        if ":" not in home and name not in LEFT_OUT:
            shown.add(f"etgp_viz.{home}")
            module = importlib.import_module(f"etgp_viz.{home}")
            found[f"etgp_viz.{name}"] = module, _public(module)
    found["etgp_viz.datasets.toys"] = _whole("etgp_viz.datasets.toys")
    for info in pkgutil.iter_modules(records.__path__, "etgp_viz.records."):
        if info.name not in shown:
            found[info.name] = _whole(info.name)
    return found


def _whole(name: str) -> tuple[ModuleType, list[str]]:
    module = importlib.import_module(name)
    return module, _public(module)


def _public(module: ModuleType) -> list[str]:
    """Functions and classes in a module's ``__all__``, the more general name first."""
    own = [name for name in module.__all__ if callable(getattr(module, name))]
    if module.__name__ == "etgp_viz.explorers":
        own += ["Explorer", "Preset", "Step"]
    return own


def _thing(module: ModuleType, name: str) -> Any:
    if (module.__name__, name) == ("etgp_viz.explorers", "Explorer"):
        from etgp_viz.explorers.base import Explorer

        return Explorer
    return getattr(module, name)


@cache
def _classes() -> frozenset[type]:
    """Every class that the reference shows."""
    return frozenset().union(*map(_classes_of, modules()))


def _classes_of(known_as: str) -> set[type]:
    """The classes on the page of a module."""
    module, public = modules()[known_as]
    return set(filter(inspect.isclass, (_thing(module, name) for name in public)))


def names() -> dict[str, str]:
    """Name as people write it → page and anchor, for links from code in a text."""
    table: dict[str, str] = {}
    ambiguous = set()
    for known_as, (module, public) in modules().items():
        short = known_as.removeprefix("etgp_viz").removeprefix(".")
        page = f"api/{known_as}"
        if short:
            table[short] = f"{page}#"
        for name in public:
            place = f"{page}#{known_as}.{name}"
            table[f"{short}.{name}" if short else name] = place
            thing = _thing(module, name)
            if inspect.isclass(thing):
                for member, _ in _members(thing):
                    table[f"{name}.{member}"] = f"{place}.{member}"
            if inspect.isclass(thing) or short == "course":
                if name in table and short:
                    ambiguous.add(name)
                table.setdefault(name, place)
    return {name: place for name, place in table.items() if name not in ambiguous}


def index(_: str) -> str:
    """A table of all public names with one line each, and the pages below."""
    parts = []
    for known_as, (module, public) in modules().items():
        parts.append(f"## [{known_as}](api/{known_as}.md)\n\n{one_line(module.__doc__ or '')}\n")
        short = known_as.removeprefix("etgp_viz").removeprefix(".")
        prefix = f"{short}." if short else ""
        rows = [
            f"| `{prefix}{name}` | {_cell(one_line(inspect.getdoc(_thing(module, name)) or ''))} |"
            for name in public
        ]
        parts.append("\n".join(["| name | what it is |", "|---|---|", *rows]) if rows else "")
    return "\n\n".join([*parts, toctree(map(_in_navigation, modules()))])


def _in_navigation(known_as: str) -> str:
    """A module in the navigation, where its full name would be too long for its column."""
    return f"{known_as.removeprefix('etgp_viz.')} <api/{known_as}>"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def page(known_as: str) -> str:
    """The page of a module."""
    module, public = modules()[known_as]
    parts = [f"({known_as})=\n# {known_as}", to_markdown(inspect.getdoc(module) or "")]
    if module.__name__ == "etgp_viz.figures":
        parts.append(_pictures())
    for name in public:
        parts.append(_entry(_thing(module, name), f"{known_as}.{name}"))
    return "\n\n".join(parts) + "\n"


def _pictures() -> str:
    from etgp_viz.figures import PICTURES

    rows = [
        f"| [`{name}`](../gallery/{story}.md#picture-{name}) | {story} | {words} |"
        for name, (story, words) in PICTURES.items()
    ]
    return "\n".join(["| picture | story | what it shows |", "|---|---|---|", *rows])


def _entry(thing: Any, full_name: str, depth: int = 0) -> str:
    """The directive of a function or class, with its members inside."""
    kind = "class" if inspect.isclass(thing) else "function"
    body = [_text(thing)]
    body.append(_link_to(example_of(thing), full_name.rpartition(".")[0]))
    if inspect.isclass(thing):
        body += _of_class(thing, full_name)
    body.append(_source(thing))
    return _directive(f"py:{kind}", f"{full_name}{_signature(thing)}", body, colons=5)


def _link_to(example: str, here: str) -> str:
    """A sentence about an example elsewhere: see `example_of`."""
    if example.endswith(".md"):
        return f"An example is on the page [](../{example})."
    if example == here:
        return f"An example is [at the top of this page](#{here})."
    if example in modules():
        return f"An example is at the top of the page [{example}]({example}.md)."
    if example.startswith("etgp_viz"):
        return f"An example is that of {{py:func}}`{example}`, which returns it."
    return ""


def _of_class(thing: type, full_name: str) -> Iterator[str]:
    if dataclasses.is_dataclass(thing):
        yield _fields(thing)
    if hasattr(thing, "State") and dataclasses.is_dataclass(thing.State):
        yield from _of_explorer(thing)
    for name, member in _members(thing):
        yield _member(thing, name, member, f"{full_name}.{name}")


def _fields(thing: type) -> str:
    """The fields of a record with the comments beside or above them, unless its text has them."""
    text = thing.__doc__ or ""
    names = [field.name for field in dataclasses.fields(thing) if not field.name.startswith("_")]
    if "Attributes\n" in text or "Parameters\n" in text or not names:
        return ""
    meanings, above = {}, ""
    for line in inspect.getsource(thing).splitlines():
        code, _, comment = line.partition("  # ")
        field = re.match(r" {4}(\w+): ", code)
        if field and field[1] in names:
            meanings[field[1]] = comment or above
        above = line.strip()[2:] if line.startswith("    # ") else ""
    rows = [f"{name} : {meanings[name]}" if meanings.get(name) else name for name in names]
    if not any(meanings.values()):
        return f"**Fields**: {', '.join(f'`{name}`' for name in names)}"
    return to_markdown("\n".join(["", "Attributes", "----------", *rows])).replace(
        "**Attributes**", "**Fields**"
    )


def _members(thing: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that a class documents itself, or that have no other page.

    Those of a base class that is not in the reference belong to it; an old name of a method is left
    out.
    """
    seen = set()
    for kind in thing.__mro__:
        if kind is not thing and (kind in _classes() or not kind.__module__.startswith("etgp_viz")):
            continue
        for name, member in vars(kind).items():
            inner = getattr(member, "__func__", member)
            inner = _getter(member) or inner
            is_own = inspect.isfunction(inner) and inner.__name__ == name and inner.__doc__
            if not name.startswith("_") and is_own and name not in seen:
                yield name, member
            seen.add(name)


def _getter(member: Any) -> Any:
    """The function behind a property; None for anything else."""
    if isinstance(member, cached_property):
        return member.func
    return member.fget if isinstance(member, property) else None


def _member(thing: type, name: str, member: Any, full_name: str) -> str:
    link = _link_to(example_of_member(thing, name), "")
    if getter := _getter(member):
        return _directive("py:property", full_name, [_text(getter), link], 3)
    inner = getattr(member, "__func__", member)
    kind = {staticmethod: "py:staticmethod", classmethod: "py:classmethod"}.get(
        type(member), "py:method"
    )
    signature = _signature(inner, bound=not isinstance(member, staticmethod))
    return _directive(kind, f"{full_name}{signature}", [_text(inner), link], 3)


def _text(thing: Any) -> str:
    """The docstring, without the shapes that check_shapes appends: the text has them too."""
    return to_markdown((inspect.getdoc(thing) or "").partition("\n:param ")[0])


def _of_explorer(kind: Any) -> Iterator[str]:
    """The controls and the presets of an explorer."""
    from etgp_viz.explorers import fields

    rows = [
        f"| `{name}` | {_cell(spec.label)} | `{_cell(repr(getattr(kind.State(), name)))}` "
        f"| {_cell(spec.effect)} |"
        for name, spec in fields.controls_of(kind.State).items()
    ]
    head = ["| field | control | starts at | a larger value means |", "|---|---|---|---|"]
    yield "**Controls**\n\n" + "\n".join([*head, *rows])
    stories = [f"- *{name}*: {preset.story}" for name, preset in kind.presets.items()]
    yield "**Presets**\n\n" + "\n".join(stories)


def _directive(kind: str, argument: str, body: list[str], colons: int) -> str:
    fence = ":" * colons
    text = "\n\n".join(part for part in body if part)
    return f"{fence}{{{kind}}} {argument}\n\n{text}\n{fence}"


def _signature(thing: Any, bound: bool = False) -> str:
    """Names and defaults of the arguments; what they mean is below."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty, default=_default(parameter.default))
        for parameter in signature.parameters.values()
    ][1 if bound else 0 :]
    signature = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    return re.sub(r"\s+", " ", str(signature))


class _Text:
    """A default value that prints as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty:
        return value
    text = repr(value)
    if isinstance(value, type) or inspect.isfunction(value):
        text = value.__name__
    return _Text("..." if text.startswith("<") or len(text) > 60 else text)


@cache
def example_of(thing: Any) -> str:
    """Where an example calls a function or makes an object of a class.

    Its "own" docstring, the name of a module whose docstring does, a page of docs/, for a class the
    name of a function that returns it and has an example, or "" for nowhere.
    """
    if _EXAMPLE in (thing.__doc__ or ""):
        return "own"
    called = re.compile(rf"^(>>>|\.\.\.) .*\b{thing.__name__}\(", re.MULTILINE)
    for known_as, (module, public) in modules().items():
        is_home = thing.__name__ in public and _thing(module, thing.__name__) is thing
        if is_home and called.search(module.__doc__ or ""):
            return known_as
    page = next((path for path, text in _pages().items() if called.search(text)), "")
    return page or (_maker(thing) if inspect.isclass(thing) else "")


def _maker(record: type) -> str:
    """A function of the reference that returns records of a class and has an example, or ""."""
    for known_as, (module, public) in modules().items():
        for name in public:
            function = _thing(module, name)
            if not inspect.isfunction(function):
                continue
            returned = str(inspect.signature(function).return_annotation)
            is_near = function.__module__ == record.__module__ or record in _classes_of(known_as)
            if is_near and re.search(rf"\b{record.__name__}\b", returned) and example_of(function):
                return f"{known_as}.{name}"
    return ""


def example_of_member(thing: type, name: str) -> str:
    """Where an example calls a method or reads a property: "own", "class", a page, or "".

    Its "own" docstring, that of its "class", or a page of docs/ that names the class in code.
    """
    member = inspect.getattr_static(thing, name)
    getter = _getter(member)
    if _EXAMPLE in ((getter or getattr(member, "__func__", member)).__doc__ or ""):
        return "own"
    end = r"\b(?!\()" if getter else r"\("
    called = re.compile(rf"^(>>>|\.\.\.) .*[\w)\]]\.{name}{end}", re.MULTILINE)
    if called.search(inspect.cleandoc(thing.__doc__ or "")):
        return "class"
    for path, text in _pages().items():
        if re.search(rf"`(\w+\.)?{thing.__name__}`", text) and called.search(text):
            return path
    return ""


@cache
def _pages() -> dict[str, str]:
    """Name → text of every page of docs/."""
    files = sorted(DOCS.rglob("*.md"))
    return {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in files}


def _source(thing: Any) -> str:
    """A link to the lines in the repository."""
    try:
        file = Path(inspect.getsourcefile(inspect.unwrap(thing)) or "").resolve()
        line = inspect.getsourcelines(inspect.unwrap(thing))[1]
    except (OSError, TypeError):
        return ""
    if not file.is_relative_to(ROOT):
        return ""
    name = file.relative_to(ROOT).as_posix()
    return f"[Source: {name}, line {line}]({repository()}/{name}#L{line})"


# Commands -----------------------------------------------------------------------------------------


def verbs() -> list[str]:
    """The verbs of ``etgp-viz``."""
    return _listed(_help())


def commands(_: str) -> str:
    """What each verb of ``etgp-viz`` says if it is asked for help."""
    parts = []
    for verb in verbs():
        tasks = _listed(_help(verb)) if verb in ("course", "class") else []
        parts.append(f"## etgp-viz {verb}\n\n```text\n{_help(verb)}\n```")
        parts += [
            f"### etgp-viz {verb} {task}\n\n```text\n{_help(verb, task)}\n```" for task in tasks
        ]
    return "\n\n".join(parts)


def _help(*verbs: str) -> str:
    from etgp_viz.cli.main import main

    printed = io.StringIO()
    os.environ["COLUMNS"] = "90"
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([*verbs, "--help"])
    return printed.getvalue().strip()


def _listed(text: str) -> list[str]:
    """Verbs in the list of a help text: words indented by four spaces."""
    return re.findall(r"^ {4}(\w+)(?= {2,}|$)", text, re.MULTILINE)
