"""Every link of the built site leads somewhere, and no page needs a network."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["problems"]

#: What a browser loads by itself: tag → attributes with addresses.
LOADED = {
    "script": ("src",), "img": ("src", "srcset"), "iframe": ("src",), "source": ("src", "srcset"),
    "video": ("src", "poster"), "object": ("data",), "embed": ("src",),
}  # fmt: skip
LOADED_LINKS = {"stylesheet", "preload", "modulepreload", "icon", "prefetch", "preconnect"}


class _Page(HTMLParser):
    """The names on a page, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.ids |= {values[key] for key in ("id", "name") if key in values}
        self.loads += [values[key] for key in LOADED.get(tag, ()) if key in values]
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and "href" in values:
            loaded = LOADED_LINKS & set(values.get("rel", "").split())
            (self.loads if loaded else self.links).append(values["href"])


def problems(folder: Path) -> Iterator[str]:
    """A sentence for each link that leads nowhere, and for each thing that a network would bring.

    Addresses on other sites cannot be visited here: only their form is checked.
    """
    paths = [path for path in folder.rglob("*.html") if "_static" not in path.parts]
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in paths}
    for path, page in pages.items():
        name = path.relative_to(folder)
        for address in page.loads:
            if _is_remote(address):
                yield f"{name} loads {address} from a network"
            elif not address.startswith("data:") and not _file(path, address).exists():
                yield f"{name} loads {address}, which does not exist"
        for address in page.links:
            if reason := _fault(path, address, pages):
                yield f"{name} links to {address}, {reason}"
    for path in folder.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        for address in re.findall(r"(?:url\(|@import )\s*[\"']?([^\"')\s]+)", text):
            if _is_remote(address):
                yield f"{path.relative_to(folder)} loads {address} from a network"


def _is_remote(address: str) -> bool:
    return address.startswith("//") or urlsplit(address).scheme in ("http", "https")


def _file(page: Path, address: str) -> Path:
    path = unquote(urlsplit(address).path)
    return (page.parent / path).resolve() if path else page


def _fault(page: Path, address: str, pages: dict[Path, _Page]) -> str:
    parts = urlsplit(address)
    if parts.scheme in ("http", "https"):
        well_formed = re.fullmatch(r"[\w.-]+(:\d+)?", parts.netloc) and not re.search(
            r"\s", address
        )
        return "" if well_formed else "which is not an address"
    if parts.scheme:
        return "" if parts.scheme in ("mailto", "data") else "which is not an address"
    target = _file(page, address)
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "which does not exist"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].ids:
        return "where that part does not exist"
    return ""
