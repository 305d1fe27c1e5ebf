"""The measured figures in the README, from the tables that come with the package.

`python tools/readme_figures.py` prints the sentences and writes them into the README. After a new
reference race or new results, run it again; a test compares.
"""

import re
from pathlib import Path

from etgp_viz import experiments, timing
from etgp_viz.experiments.comparisons import LOSES, WINS, Evidence
from etgp_viz.files import write

README = Path(__file__).parents[1] / "README.md"
PLACE = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)


def sentences() -> str:
    """Three sentences, each with the command that prints its figures."""
    race = timing.reference()
    most, fewest = race["classes"].max(), race["classes"].min()
    times = timing.speedups(race).set_index(["model", "classes"])["speedup"]
    step = race.set_index(["model", "classes"])["step"]
    grows = step["etgp-linear", most] / step["etgp-linear", fewest]
    duels = list(Evidence(experiments.reference()).duels(beyond=True))
    num_data = len({duel.etgp.dataset for duel in duels})
    wins, losses = (sum(duel.result == result for duel in duels) for result in (WINS, LOSES))
    undecided = [duel for duel in duels if duel.result not in (WINS, LOSES)]
    num_behind = sum(duel.lead.mean < 0.0 for duel in undecided)
    return f"""\
- **Time.** With {most} classes, a training step of an SVGP, the usual Gaussian process classifier,
  takes **{times["svgp-separate", most]:.0f} times** as long as a step of ETGP, and still
  **{times["svgp-batched", most]:.0f} times** as long if the SVGP is rewritten without loops
  (`timing.describe(timing.reference())`).
- **Classes.** With {most / fewest:.0f} times as many classes, a step of ETGP takes only
  **{grows:.2f} times** as long: there is still one Gaussian process, and flows are cheap
  (the same command; `etgp-viz timing` repeats the race on your machine).
- **Accuracy.** On {num_data} real data sets, ETGP wins **{wins}** and loses **{losses}** of
  {len(duels)} comparisons with the paper's SVGPs and with rivals that the paper left out. The other
  {len(undecided)} are too close to call or have too few seeds; ETGP is behind on average
  in **{num_behind}** of them (`etgp-viz claims`)."""


def with_figures(readme: str) -> str:
    """The text of the README with these sentences in their place."""
    return PLACE.sub(lambda place: f"{place[1]}{sentences()}\n{place[2]}", readme)


if __name__ == "__main__":
    print(sentences())
    write(README, with_figures(README.read_text(encoding="utf-8")))
