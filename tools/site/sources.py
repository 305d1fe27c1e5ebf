"""The pages of the site as Markdown in one folder: those of docs/, completed by what code makes."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from os.path import relpath
from pathlib import Path, PurePosixPath

from etgp_viz.files import write

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
SOURCE = BUILD / "docs-source"

#: The navigation: the page that opens a section → the pages below it, in the order of reading.
CONTENTS = {
    "start": ("five_pictures", "install", "troubleshooting"),
    "guide": (
        *("guide/fit_your_data", "guide/compare_models", "guide/read_a_covariance"),
        *("guide/race_on_your_machine", "guide/teach_a_class", "guide/write_a_tour"),
        *("jupyterhub", "guide/grid_on_a_cluster", "guide/add_a_flow"),
    ),
    "lessons": (),
    "gallery": (),
    "reference": ("api", "commands", "glossary", "paper_to_code", "reading_the_core"),
    "results": ("claims", "errata"),
    "about": ("citing", "security", "accessibility", "contributing", "changelog"),
}
#: Files outside docs/ that are pages of the site too.
ELSEWHERE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
PLACE = re.compile(r"^<!-- site: (\w+) *(.*?) -->$", re.MULTILINE)
LINK = re.compile(r"(?<=\])\(([^()\s]+)\)")
CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)


def repository() -> str:
    """Address of the published repository, from one line of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    name, _, branch = project["tool"]["etgp-viz"]["published"].partition("@")
    return f"https://github.com/{name}/blob/{branch}"


def page_of(file: str) -> str | None:
    """The page on which the site shows a file of the repository, if it does.

    >>> page_of("docs/guide/teach_a_class.md"), page_of("notebooks/04_one_latent.ipynb")
    ('guide/teach_a_class.md', 'lessons/04.md')
    """
    if file in ELSEWHERE:
        return ELSEWHERE[file]
    if file == "README.md":
        return "index.md"
    if file.startswith("docs/") and file.endswith(".md"):
        return file.removeprefix("docs/")
    lesson = re.fullmatch(r"notebooks/(\d\d|explorers(?=\.))\w*\.ipynb", file)
    return f"lessons/{lesson[1]}.md" if lesson else None


def with_links(text: str, file: str) -> str:
    """The text of a file whose links lead to pages of the site, or to the repository.

    A link to a file that does not exist is an error.
    """

    def lead(match: re.Match[str]) -> str:
        target, _, anchor = match[1].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        found = (ROOT / file).parent.joinpath(target).resolve()
        if not found.exists():
            raise FileNotFoundError(f"{file} links to {target}, which does not exist")
        name = found.relative_to(ROOT).as_posix()
        page = page_of(name)
        if page is None:
            if name.startswith("docs/"):  # a picture
                return match[0]
            return f"({repository()}/{name})"
        start = PurePosixPath(page_of(file) or file).parent
        anchor = f"#{anchor}" if anchor else ""
        return f"({relpath(page, start)}{anchor})"

    parts = CODE.split(text)
    return "".join(part if i % 2 else LINK.sub(lead, part) for i, part in enumerate(parts))


def assemble(folder: Path, makers: Mapping[str, Callable[[str], str]]) -> None:
    """Write all pages that stand in the repository into a folder, their places filled by makers.

    Parameters
    ----------
    folder : where the pages go
    makers : word in a comment ``<!-- site: word options -->`` → what makes Markdown of its options
    """
    pages = {
        path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "docs").rglob("*.md"))
    } | {name: ROOT / name for name in ELSEWHERE}
    for name, path in pages.items():
        text = with_links(path.read_text(encoding="utf-8"), name)
        text = PLACE.sub(lambda place: makers[place[1]](place[2]), text)
        write(folder / (page_of(name) or name), text)
    for path in (ROOT / "docs").iterdir():
        if path.suffix in (".png", ".gif", ".webp", ".svg"):
            write(folder / path.name, path.read_bytes())


def places(word: str) -> list[str]:
    """Options of every comment with this word, in docs/."""
    texts = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))
    return list(dict.fromkeys(m[2] for text in texts for m in PLACE.finditer(text) if m[1] == word))


def toctree(pages: Iterable[str]) -> str:
    """The pages below a page, for the navigation."""
    return "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"])


def contents(section: str) -> str:
    """The pages of a section, or all sections; a page of docs/ without a section joins the last."""
    if not section:
        return toctree(CONTENTS)
    pages = [*CONTENTS[section]]
    if section == list(CONTENTS)[-1]:
        known = {*CONTENTS, "index", *(page for some in CONTENTS.values() for page in some)}
        files = sorted((ROOT / "docs").rglob("*.md"))
        names = [path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in files]
        pages += [name for name in names if name not in known]
    return toctree(pages)
