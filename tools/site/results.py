"""Results and claims, from the tables that come with the package."""

import re
from collections.abc import Iterator

from etgp_viz import experiments, timing
from etgp_viz.experiments import claims
from etgp_viz.figures import race, scores
from tools.site.stills import Stills

__all__ = ["claims_page", "race_figures", "score_figures"]


#: What a race is run over, in the order of the page.
AXES = {"classes": "classes", "num_inducing": "inducing points", "num_data": "rows"}


def score_figures(metrics: str) -> str:
    """A picture and a table of every data set for each of the named metrics."""
    table, stills = experiments.reference(), Stills()
    parts = [experiments.made_by(table)]
    for dataset in dict.fromkeys(table["dataset"]):
        parts.append(f"### {dataset.capitalize()}")
        for metric in metrics.split():
            panel = experiments.panel(table, dataset, metric)
            parts.append(stills.figure(scores.make(panel), f"{metric} of every model on {dataset}"))
        panels = [experiments.panel(table, dataset, metric) for metric in metrics.split()]
        parts.append(_markdown(experiments.text_table(panels), dataset))
    return "\n\n".join(parts)


def _markdown(frame, dataset: str) -> str:
    """A table of texts as Markdown, with metrics in words as its heading."""
    frame = frame.reset_index()
    head = [name.removeprefix(f"{dataset} ").replace("_", "-") for name in frame.columns]
    rows = [head, ["---"] * len(head), *frame.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def race_figures(_: str) -> str:
    """The reference race over C, M and N, in sentences and pictures."""
    stills, parts = Stills(), []
    for over, words in AXES.items():
        table = timing.reference(over)
        record = timing.curves(table, over=over)
        fixed = [f"{table[axis].iloc[0]} {AXES[axis]}" for axis in AXES if axis != over]
        parts.append(f"### Against the number of {words}\n\nWith {' and '.join(fixed)}.")
        parts.append(stills.figure(race.make(record), f"seconds of a step against {words}"))
        if over == "classes":
            parts.append("\n".join(f"- {sentence}" for sentence in timing.describe(table)))
    return "\n\n".join(parts)


def claims_page(_: str) -> str:
    """What `etgp-viz claims` prints, section by section."""
    text = claims.page(experiments.reference())
    title = re.compile(r"^(\S.*)\n-{3,}\n", re.MULTILINE)
    _, *sections = title.split(text)
    pairs = zip(sections[::2], sections[1::2], strict=True)
    return "\n\n".join(f"## {name}\n\n{_section(content)}" for name, content in pairs)


def _section(text: str) -> str:
    """Lines as paragraphs; indented lines as a list below them, folded below a verdict."""
    return "\n".join(_lines([*text.strip("\n").splitlines(), ""]))


def _lines(lines: list[str]) -> Iterator[str]:
    in_list, verdict = False, None
    for line in lines:
        indented = line.startswith("    ")
        if indented != in_list:
            fold = (
                "<details>\n<summary>Rule, data and comparisons</summary>"
                if indented
                else "</details>"
            )
            yield f"\n{fold}\n" if verdict else ""
            in_list = indented
        words = _escaped(line.strip())
        if indented:
            yield f"- {words}"
            continue
        verdict = re.match(r"[A-Z][A-Z ]{3,}(?= \(|:)", words)
        if verdict:
            words = f"**{verdict[0].capitalize()}**{words[verdict.end() :]}"
        yield f"{words}\n"


def _escaped(line: str) -> str:
    return line.replace("[", r"\[").replace("|", r"\|").replace("<", "&lt;").replace("*", r"\*")
