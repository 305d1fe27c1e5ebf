"""Build the site: `python -m tools.site`, or `make docs`."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser
from itertools import count
from pathlib import Path

from docutils.nodes import make_id
from plotly.offline import get_plotlyjs

from etgp_viz.course.publish.pages import static
from etgp_viz.files import write
from tools.site import check, gallery, jobs, lessons, reference, results, sources, stills
from tools.site.sources import BUILD, ROOT, SOURCE


def main() -> int:
    """Build the site and check it; 1 if a warning or a problem was found."""
    parser = ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("--output", type=Path, default=BUILD / "docs")
    parser.add_argument("--lessons", help="numbers of those to run, such as 01,04 (default: all)")
    options = parser.parse_args()
    os.chdir(ROOT)
    start = time.monotonic()
    wanted = [*lessons.NOTEBOOKS] if options.lessons is None else options.lessons.split(",")
    shutil.rmtree(SOURCE, ignore_errors=True)
    jobs.write_pages([name for name in lessons.NOTEBOOKS if name in wanted])
    for name in lessons.NOTEBOOKS:
        if name not in wanted:
            write(SOURCE / "lessons" / f"{name}.md", lessons.empty_page(name))
    _write_quick_pages()
    shutil.rmtree(options.output, ignore_errors=True)
    status = _run_sphinx(options.output)
    found = list(check.problems(options.output))
    for problem in found:
        print(problem, file=sys.stderr)
    pages = len(list(options.output.rglob("*.html")))
    seconds = time.monotonic() - start
    print(f"{options.output}: {pages} pages in {seconds:.0f} s, {len(found)} broken links")
    return 1 if status or found else 0


# Pages that take no time ----------------------------------------------------------------------


def _write_quick_pages() -> None:
    makers = {
        "contents": sources.contents,
        "lessons": lessons.index,
        "gallery": gallery.index,
        "explorer": _numbered,
        "api": reference.index,
        "commands": reference.commands,
        "scores": results.score_figures,
        "race": results.race_figures,
        "claims": results.claims_page,
    }
    sources.assemble(SOURCE, makers)
    for name in reference.modules():
        write(SOURCE / "api" / f"{name}.md", reference.page(name))
    write(SOURCE / "static" / "plotly.min.js", get_plotlyjs())
    write(SOURCE / "static" / "stills.js", static("stills.js"))
    write(SOURCE / "static" / "colours.css", stills.colours())
    write(SOURCE / "names.json", json.dumps(reference.names() | _terms()))


_numbers = count(1)


def _numbered(options: str) -> str:
    """An explorer that has been made; sliders on one page need different numbers."""
    text = (SOURCE / "explorers" / f"{jobs.short(options)}.txt").read_text(encoding="utf-8")
    return text.replace("slider-1'", f"slider-{next(_numbers)}'")


def _terms() -> dict[str, str]:
    """Names in code style in headings of the glossary → their place."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*`.*)$", text, re.MULTILINE)
    return {
        name: f"glossary#{make_id(heading.replace('`', ''))}"
        for heading in headings
        for name in re.findall(r"`(\w+)`", heading)
    }


def _run_sphinx(output: Path) -> int:
    """Run Sphinx; a warning is an error."""
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--quiet", "--fail-on-warning"]
    command += ["--jobs", "auto", "--conf-dir", "tools/site", "--doctree-dir", BUILD / "docs-trees"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ETGP_VIZ_SITE": str(SOURCE)}
    return subprocess.run([*command, SOURCE, output], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
