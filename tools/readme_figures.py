"""The measured figures in the README, from the tables that come with the package.

`python tools/readme_figures.py` prints the sentences and writes them into the README. After a new
reference race or new results, run it again; a test compares.
"""

import re
from pathlib import Path

from etgp_viz import experiments, timing
from etgp_viz.experiments.comparisons import LOSES, WINS
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
    duels = experiments.duels(experiments.reference(), beyond=True)
    wins, losses = (int((duels["result"] == result).sum()) for result in (WINS, LOSES))
    num_open, num_data = len(duels) - wins - losses, duels["dataset"].nunique()
    return f"""\
- **Time.** With {most} classes, a training step of an SVGP takes
  **{times["svgp-separate", most]:.0f} times** as long as a step of ETGP, and still
  **{times["svgp-batched", most]:.0f} times** if the SVGP is rewritten without loops
  (`timing.describe(timing.reference())`).
- **Classes.** {most / fewest:.0f} times as many classes make a step of ETGP only
  **{grows:.2f} times** as long: there is one Gaussian process, and the flows are cheap
  (the same command; `etgp-viz timing` repeats the race on your machine).
- **Accuracy.** On {num_data} real data sets, ETGP wins **{wins}** and loses **{losses}** of
  {len(duels)} comparisons with the paper's SVGPs and with rivals that the paper left out; the other
  {num_open} are too close to call, or had too few seeds (`etgp-viz claims`)."""


def with_figures(readme: str) -> str:
    """The text of the README with these sentences in their place."""
    return PLACE.sub(lambda place: f"{place[1]}{sentences()}\n{place[2]}", readme)


if __name__ == "__main__":
    print(sentences())
    write(README, with_figures(README.read_text(encoding="utf-8")))
