"""What `make docs` puts together: links, names, pictures, docstrings, and what is cited."""

import ast
import doctest
import inspect
import json
import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from nbformat.v4 import new_output

import etgp_viz
from etgp_viz import explorers, figures
from tools.site import check, docstrings, gallery, lessons, reference, results, sources, stills

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("module", [docstrings, sources], ids=lambda module: module.__name__)
def test_examples_in_the_code_of_the_site(module):
    assert doctest.testmod(module).failed == 0


# Pages --------------------------------------------------------------------------------------------


def test_links_lead_to_pages_or_to_the_repository():
    text = "[a](../CHANGELOG.md#x) [b](../../notebooks/04_one_latent_many_processes.ipynb) `[c](d)`"
    text = text.replace("../CHANGELOG", "../../CHANGELOG") + " [e](../../etgp_viz/core/flows.py)"
    found = sources.with_links(text, "docs/guide/add_a_flow.md")
    assert "[a](../changelog.md#x) [b](../lessons/04.md) `[c](d)`" in found
    assert found.endswith("/blob/main/etgp_viz/core/flows.py)")


def test_a_link_to_a_missing_file_is_an_error():
    with pytest.raises(FileNotFoundError, match=r"docs/start\.md links to nowhere\.md"):
        sources.with_links("[a](nowhere.md)", "docs/start.md")


def test_every_page_is_in_the_navigation():
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    listed = {f"{name}.md" for name in re.findall(r"^[\w/]+$", _navigation(), re.MULTILINE)}
    assert pages - listed == {"index.md"}
    assert listed - pages == set(sources.ELSEWHERE.values())


def _navigation() -> str:
    return "\n".join(map(sources.contents, ("", *sources.CONTENTS)))


def test_every_place_on_a_page_is_known():
    """A comment for the site names an explorer with a slider and plots that exist."""
    for options in sources.places("explorer"):
        name, slider, plots, *_ = options.split()
        kind = getattr(explorers, name)
        assert set(plots.split(",")) <= set(kind.pictures), options
        assert slider == "-" or slider in kind.State.__dataclass_fields__, options


def test_every_lesson_says_what_it_is_about():
    text = lessons.index("")
    assert all(f"(lessons/{name}.md)**\\\n" in text for name in lessons.NOTEBOOKS)


def test_what_a_cell_prints_is_one_box():
    texts = [("stdout", "a\n"), ("stdout", "b\n"), ("stderr", "c"), ("stdout", "d")]
    printed = [new_output("stream", name=name, text=text) for name, text in texts]
    table = new_output("display_data", {"text/plain": "t"})
    found = lessons.joined([*printed[:2], table, *printed[2:]])
    assert [output.get("text", "t") for output in found] == ["a\nb\n", "t", "c", "d"]


def test_claims_are_folded_below_their_verdicts():
    text = "Two claims.\n    a list\n\nHOLDS HERE: one. (section 5)\n    ✓ x: 1 [0, 2]\n\nEnd."
    page = results._section(text)
    assert page.count("<details>") == page.count("</details>") == 1
    before, fold = page.split("<details>")
    assert "- a list" in before
    assert "**Holds here**: one." in before
    assert fold.index("- ✓ x") < fold.index("</details>") < fold.index("End.")


def test_plots_have_the_colours_of_the_explorers():
    text = stills.colours()
    assert "etgp-viz" not in text
    light, dark = re.findall(r"^(.*) \{\s*--etgp-class-1: #\w+", text, re.MULTILINE)
    assert (light, dark) == (".still", 'html[data-theme="dark"] .still')
    assert set(re.findall(r"fill: var\(--etgp-class-(\d)\)", text)) == set("12345678")
    assert text.count("{") == text.count("}")


# Gallery ------------------------------------------------------------------------------------------


def test_the_gallery_has_every_explorer_and_every_picture():
    shown = [p for name in explorers.__all__ for p in gallery._pictures_of(name)]
    assert set(figures.PICTURES) <= set(shown)
    drawn = {
        id(picture)
        for name in explorers.__all__
        for picture in getattr(explorers, name).pictures.values()
    }
    without = {name for name in figures.PICTURES if id(getattr(figures, name)) not in drawn}
    assert without == set(gallery.SCRIPTS), "a picture that no explorer shows needs a script"


@pytest.mark.parametrize("script", gallery.SCRIPTS.values(), ids=gallery.SCRIPTS)
def test_a_script_of_the_gallery_ends_with_its_picture(script):
    last = ast.parse(script).body[-1]
    assert re.fullmatch(r"\w+\.make\(record\)\.show\(\)", ast.unparse(last))


# Reference ----------------------------------------------------------------------------------------


def test_the_reference_finds_names_as_people_write_them():
    names = reference.names()
    assert names["fit"] == "api/etgp_viz#etgp_viz.fit"
    assert names["ETGP.elbo"] == "api/etgp_viz#etgp_viz.ETGP.elbo"
    assert names["datasets.load"] != names["experiments.load"]
    assert "load" not in names


MODULES = reference.modules()
THINGS = {
    f"{known_as}.{name}": reference._thing(module, name)
    for known_as, (module, public) in MODULES.items()
    for name in public
}
CLASSES = {name: thing for name, thing in THINGS.items() if inspect.isclass(thing)}


def test_every_function_of_the_reference_has_an_example():
    """In its own docstring or in that of its module; the tests run both."""
    functions = {name: thing for name, thing in THINGS.items() if inspect.isfunction(thing)}
    places = {name: reference.example_of(thing) for name, thing in functions.items()}
    assert [name for name, place in places.items() if place not in {"own", *MODULES}] == []


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_of_the_reference_has_an_example(name):
    """Of a record, the example may be that of the function that returns it."""
    assert reference.example_of(CLASSES[name])


@pytest.mark.parametrize("name", CLASSES)
def test_every_method_and_property_of_the_reference_has_an_example(name):
    """In its own docstring, in that of its class, or on a page of docs/ that names the class."""
    thing = CLASSES[name]
    members = [member for member, _ in reference._members(thing)]
    assert [m for m in members if not reference.example_of_member(thing, m)] == []


def test_every_entry_of_the_reference_shows_or_links_an_example():
    for known_as, (_, public) in MODULES.items():
        page = reference.page(known_as)
        for name in public:
            entry = re.split(rf"}} {re.escape(known_as)}\.{name}\b", page)[1]
            text = entry.partition("\n:::::\n")[0].partition("\n:::{")[0]
            assert ">>> " in text or "An example is " in text, f"{known_as}.{name}"


class Meter:
    """A thing to measure with.

    >>> Meter().measure(2.0)
    2.0
    """

    def measure(self, length: float) -> float:
        """A length in metres."""
        return length

    def in_feet(self, length: float) -> float:
        """A length in feet."""
        return length / 0.3048

    @property
    def name(self) -> str:
        """What it is called."""
        return "metre"


def test_a_method_without_an_example_is_seen():
    assert reference.example_of_member(Meter, "measure") == "class"
    assert reference.example_of_member(Meter, "in_feet") == ""
    assert reference.example_of_member(Meter, "name") == ""


def test_a_class_has_the_methods_of_its_base_unless_that_has_its_own_entry():
    methods = dict(reference._members(etgp_viz.ETGPClassifier))
    assert {"fit", "predict", "save", "load"} <= set(methods)
    assert "resample" not in dict(reference._members(explorers.FlowExplorer))
    assert "truncation_error" not in dict(reference._members(etgp_viz.covariance.HermiteSeries))


def test_fields_of_a_record_are_explained():
    page = reference.page("etgp_viz.shared_latent")
    assert "- `rank_correlation`: [C, C]" in page
    series = reference.page("etgp_viz.records.hermite_series")
    assert (
        "- `remainder`: Σ_{n > order} h_n^c(x)², the variance that the series leaves out" in series
    )


def test_commands_are_those_of_the_program():
    assert {"doctor", "lab", "timing", "experiment", "claims"} <= set(reference.verbs())
    assert "--classes" in reference.commands("")


def test_every_argument_in_the_glossary_is_one():
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    terms = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^## .*$", text, re.MULTILINE))))
    things = [getattr(etgp_viz, name) for name in ("ETGP", "FlowNetwork", "build", "fit")]
    things += [etgp_viz.ETGP.predict_y, etgp_viz.ETGP.predict_f]
    known = {name for thing in things for name in inspect.signature(thing).parameters}
    assert terms - known <= {"q_mu", "q_sqrt"}
    assert terms >= {"whiten", "patience"}


# The built site -----------------------------------------------------------------------------------

PAGE = """<h1 id="top">x</h1><a href="b.html#here">b</a><a href="#top">t</a>
<a href="https://example.org/a">e</a><img src="data:,"><script src="_static/s.js"></script>"""


@pytest.fixture
def site(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "s.js").touch()
    (tmp_path / "_static" / "s.css").write_text("a { background: url(s.png) }")
    (tmp_path / "a.html").write_text(PAGE)
    (tmp_path / "b.html").write_text('<p id="here">x</p>')
    return tmp_path


def test_a_sound_site_has_no_problems(site):
    assert list(check.problems(site)) == []


@pytest.mark.parametrize(
    ("added", "problem"),
    [
        ('<a href="c.html">', "links to c.html, which does not exist"),
        ('<a href="b.html#there">', "where that part does not exist"),
        ('<a href="https://exa mple.org">', "which is not an address"),
        ('<script src="https://cdn.example.org/x.js">', "from a network"),
        ('<link rel="stylesheet" href="//cdn.example.org/x.css">', "from a network"),
        ('<img src="none.png">', "which does not exist"),
    ],
)
def test_a_problem_is_seen(site, added, problem):
    (site / "a.html").write_text(PAGE + added)
    (found,) = check.problems(site)
    assert problem in found


def test_a_font_from_a_network_is_seen(site):
    (site / "_static" / "s.css").write_text('@import "https://fonts.example.org/f.css";')
    (found,) = check.problems(site)
    assert "s.css loads https://fonts.example.org/f.css from a network" in found


# Cite and publish ---------------------------------------------------------------------------------


def test_what_is_cited_is_what_is_built():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    zenodo = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == zenodo["version"] == etgp_viz.__version__
    assert citation["license"] == zenodo["license"] == project["license"]
    names = [citation["authors"][0]["name"], zenodo["creators"][0]["name"]]
    assert {*names, project["authors"][0]["name"]} == {"etgp-viz contributors"}
    assert citation["title"] == zenodo["title"]


def test_addresses_are_those_of_the_one_setting():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    repository = project["tool"]["etgp-viz"]["published"].partition("@")[0]
    home = f"https://github.com/{repository}"
    urls = project["project"]["urls"]
    assert all(url.startswith(home) for name, url in urls.items() if name != "Paper")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["repository-code"] == home


def test_the_light_package_is_described_like_the_full_one():
    full, light = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in ("", "light")
    )
    for field in ("license", "authors", "keywords", "classifiers", "requires-python", "urls"):
        assert light[field] == full[field], field
    assert light["scripts"] == full["scripts"]


def test_the_readme_on_a_package_index_leads_to_the_repository(monkeypatch):
    """Without hatchling, which only a build has: its interface is one class without methods."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    text = import_module("tools.readme_for_index").absolute_links(ROOT)
    home = r"https://github\.com/[\w-]+/etgp-viz"
    assert re.search(rf"!\[[^\]]+\]\({home}/raw/main/docs/bending-classes\.webp\)", text)
    assert re.search(rf"\[Install\]\({home}/blob/main/docs/install\.md\)", text)
    linked = re.findall(r"\]\(([^)]+)\)", text)
    assert all(address.startswith("https://") for address in linked)
    assert len(linked) == (ROOT / "README.md").read_text(encoding="utf-8").count("](")


def test_the_changelog_keeps_its_form():
    """That of keepachangelog.com: dated versions, the newest first, and six kinds of changes."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[?(\S+?)\]? - (\d{4}-\d\d-\d\d)$", text, re.MULTILINE)
    assert len(versions) == len(re.findall(r"^## ", text, re.MULTILINE))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert versions[0] == (etgp_viz.__version__, str(citation["date-released"]))
    assert versions == sorted(versions, key=lambda version: version[1], reverse=True)
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= kinds
    home = sources.repository().partition("/blob/")[0]
    assert text.endswith(f"\n[{versions[0][0]}]: {home}/releases/tag/v{versions[0][0]}\n")
