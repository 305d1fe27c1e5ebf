"""The gallery: every explorer with a slider, every kind of picture, each with its script."""

import ast
import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import style

from etgp_viz import explorers, figures
from etgp_viz.files import write
from tools.site.docstrings import one_line
from tools.site.sources import toctree
from tools.site.stills import Stills

__all__ = ["SCRIPTS", "index", "moving", "page", "prints", "story_of"]

#: Pictures that no explorer shows, and a script that makes the record of each.
SCRIPTS = {
    "two_points": """\
import numpy as np

from etgp_viz import flows, prior
from etgp_viz.figures import two_points
from etgp_viz.records import flow as flow_records

x = np.array([0.0, 0.5])
K = prior.covariance_matrix(prior.kernel("rbf", 1.0, 1.0, 2.0), x)
params = np.tile([1.5, 1.0], (2, 1))
record = flow_records.two_points(x, K, prior.noise(0, 1000, 2), flows.Linear(), params)
two_points.make(record).show()
""",
    "latent_ties": """\
from etgp_viz.figures import latent_ties
from etgp_viz.records import several_latents

record = several_latents.ties()
latent_ties.make(record).show()
""",
    "optimisers": """\
from etgp_viz import build, datasets, fit
from etgp_viz.figures import optimisers
from etgp_viz.records import live_training

toy = datasets.toys.waves(120)
results = {}
for name, gamma in (("Adam", None), ("natural gradients, γ = 0.1", 0.1)):
    model = build("etgp-linear", toy.X, 3, num_inducing=10, hidden=(25,), dropout=0.0)
    how = {"learning_rate": 0.02, "natural_gradients": gamma, "progress": False}
    results[name] = fit(model, (toy.X, toy.Y), epochs=100, **how)
record = live_training.compare(results)
optimisers.make(record).show()
""",
    "return_to_prior": """\
import numpy as np

from etgp_viz import build, datasets, fit
from etgp_viz.figures import return_to_prior
from etgp_viz.records import far_away

toy = datasets.toys.waves(300)
models = {}
for name in ("dropout", "concrete", "mean-field", "gp"):
    models[name] = build("etgp-linear", toy.X, 3, num_inducing=15, parameters=name)
    fit(models[name], (toy.X, toy.Y), epochs=600, learning_rate=0.02, progress=False)
record = far_away.look_away(models, np.linspace(0.0, 15.0, 121), edge=3.0)
return_to_prior.make(record).show()
""",
    "concentration": """\
import numpy as np

from etgp_viz import build, datasets, fit
from etgp_viz.figures import concentration
from etgp_viz.records import far_away

models = {"dropout": {}, "concrete": {}}
for name in models:
    for N in (100, 1000, 10_000):
        toy = datasets.toys.waves(N, noise=0.3)
        options = {"num_inducing": 15, "precision": "float32", "parameters": name}
        models[name][N] = build("etgp-linear", toy.X, 3, **options)
        how = {"batch_size": min(N, 500), "learning_rate": 0.02, "progress": False}
        fit(models[name][N], (toy.X, toy.Y), epochs=500_000 // max(N, 500), **how)
record = far_away.concentrate(models, np.linspace(-3.0, 3.0, 61)[:, None])
concentration.make(record).show()
""",
}


def story_of(name: str) -> str:
    """The module of an explorer, which names its page: "flow" for FlowExplorer."""
    return getattr(explorers, name).__module__.rpartition(".")[2]


def _in_order() -> list[str]:
    """Explorers in the order of their stories."""
    stories = list(figures.STORIES)
    return sorted(explorers.__all__, key=lambda name: (*map(story_of(name).__ne__, stories),))


@cache
def _explorer(name: str) -> Any:
    return getattr(explorers, name)()


def index(_: str) -> str:
    """A card for each explorer, with its print figure in both themes, and the pages below."""
    cards = [card for name in _in_order() for card in _card(name)]
    return "\n\n".join([*cards, toctree(f"gallery/{story_of(name)}" for name in _in_order())])


def _card(name: str) -> Iterator[str]:
    story = story_of(name)
    kind = getattr(explorers, name)
    yield f"## [{name}](gallery/{story}.md)"
    yield one_line(kind.__doc__ or "")
    for theme in ("light", "dark"):
        alt = f"Print figure of {name}, {theme} theme"
        yield f"```{{image}} prints/{story}-{theme}.png\n:alt: {alt}\n:class: only-{theme}\n```"
    shown = [f"[{p}](gallery/{story}.md#{_label(name, p)})" for p in _pictures_of(name)]
    yield f"Pictures: {', '.join(shown)}."


def _pictures_of(name: str) -> dict[str, str]:
    """Pictures on the page of an explorer → what each shows."""
    own = {id(picture) for picture in getattr(explorers, name).pictures.values()}
    others = {
        id(picture)
        for other in explorers.__all__
        if other != name
        for picture in getattr(explorers, other).pictures.values()
    }
    found = {}
    for picture, (story, words) in figures.PICTURES.items():
        key = id(getattr(figures, picture))
        if key in own or (story == story_of(name) and key not in others):
            found[picture] = words
    return found


def _label(name: str, picture: str) -> str:
    """The anchor of a picture; the page of its own story has the short one."""
    story = story_of(name)
    return f"picture-{picture}" if figures.PICTURES[picture][0] == story else f"{story}-{picture}"


def page(name: str) -> str:
    """The page of an explorer."""
    explorer, stills = _explorer(name), Stills()
    moving = stills.explorer(explorer)  # first: training leads to what the pictures show
    parts = [
        f"# {name}",
        _lead(explorer),
        moving,
        "In a notebook, with all its controls:",
        f"```python\nfrom etgp_viz.explorers import {name}\n\n{name}()\n```",
        "## As a script",
        "What `to_code()` prints for the state above: the numbers first, then the pictures.",
        f"```python\n{explorer.to_code()}\n```",
        "## Presets",
        "\n".join(f"- **{words}**: {p.story}" for words, p in explorer.presets.items()),
        "## Pictures",
    ]
    for picture, words in _pictures_of(name).items():
        parts += _picture_section(explorer, picture, words, stills)
    return "\n\n".join(parts) + "\n"


def _lead(explorer: Any) -> str:
    text = (type(explorer).__doc__ or "").partition("Parameters\n")[0]
    return "\n\n".join(one_line(part) for part in text.split("\n\n") if part.strip())


def _picture_section(explorer: Any, picture: str, words: str, stills: Stills) -> Iterator[str]:
    yield f"({_label(type(explorer).__name__, picture)})=\n### {picture}"
    yield f"{words[0].upper()}{words[1:]}."
    if picture in SCRIPTS:
        yield stills.figure(_run(SCRIPTS[picture]), words)
        yield f"```python\n{SCRIPTS[picture]}```"
        return
    drawing = getattr(figures, picture)
    name = next(key for key, used in explorer.pictures.items() if used is drawing)
    yield stills.figure(explorer.figures[name], words)
    yield (
        f"```python\nfrom etgp_viz.figures import {picture}\n\n"
        f'{picture}.make(records["{name}"]).show()  # records: as in the script above\n```'
    )


def _run(script: str) -> Any:
    """The figure that a script of ours shows in its last line."""
    names: dict[str, Any] = {}
    exec(re.sub(r"^(\w+\.make\(record\))\.show\(\)$", r"figure = \1", script, flags=re.M), names)
    return names["figure"]


def prints(name: str, folder: Path) -> None:
    """Write the print figure of an explorer for the light and the dark theme."""
    for theme, look in (("light", "default"), ("dark", "dark_background")):
        content = io.BytesIO()
        with style.context(look), mpl.rc_context({"savefig.transparent": True}):
            figure = _explorer(name).print_figure()
            figure.savefig(content, format="png", dpi=110, bbox_inches="tight")
        write(folder / f"{story_of(name)}-{theme}.png", content.getvalue())


# Explorers on other pages ------------------------------------------------------------------------


def moving(options: str) -> str:
    """An explorer with one slider, from ``ExplorerName slider plot,plot field=value …``.

    The slider "-" is the one that the explorer chooses itself.
    """
    name, slider, plots, *values = options.split()
    settings = {key: _value(value) for key, _, value in (v.partition("=") for v in values)}
    explorer = getattr(explorers, name)(**settings)
    return Stills().explorer(explorer, slider.removeprefix("-"), tuple(plots.split(",")))


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except ValueError:  # a word
        return text
