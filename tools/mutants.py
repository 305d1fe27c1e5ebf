"""Mutation testing: small changes to the code, each of which some test must notice.

    python tools/mutants.py                    # the table below and 300 generated mutants
    python tools/mutants.py --count 40 links   # fewer, of one part

A mutant is a copy of the package with one change: those of the table, which once survived or guard
something dear, and generated ones (another comparison, operation, constant or condition). The quick
tests of its part run against it and stop at the first failure. The last table has one line for each
part; every survivor is listed with its module, its function and its change.

TensorFlow and the other libraries are imported once, without starting a thread, and each mutant
runs in a fork of that process, which imports the package anew. First all tests run against the code
as it is; those that take longer than a few seconds are left out, and the quickest go first. Tests
of a mutant that take many times as long never end, which is told and counts as noticed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import gc
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "etgp_viz"
SECONDS = 1200.0  # for the tests of a part
LONGEST = 2.5  # seconds of a processor that one test may take
PATIENCE = 5  # how many times as long the tests of a mutant may take, and …
MORE_SECONDS = 10.0  # … how much longer
NEVER_ENDED = 124  # status of tests that were stopped
MOST_SURVIVORS = 0.03
LIBRARIES = ("hypothesis", "scipy.stats", "sklearn.cluster", "plotly.graph_objects",
             "ipywidgets", "pandas")  # fmt: skip

SURVIVORS = "tests/unit/trust/test_survivors.py"
#: part → modules, and the tests that must notice a change in them
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "flows": (("core/flows.py",), ("tests/unit/core/test_flows.py",)),
    "network": (("core/network.py",), ("tests/unit/core/test_network.py", SURVIVORS)),
    "model": (
        ("core/model.py", "core/expectations.py", "core/conditional.py"),
        ("tests/unit/core/test_model.py", "tests/unit/core/test_expectations.py",
         "tests/unit/core/test_quadrature.py"),
    ),
    "training": (
        ("core/training.py", "core/optimiser.py", "files/checkpoint.py"),
        ("tests/unit/core/test_training.py", "tests/unit/core/test_stopping.py", SURVIVORS),
    ),
    "covariance": (
        ("records/covariance.py", "core/hermite.py"),
        ("tests/unit/records/test_covariance.py", "tests/unit/core/test_hermite.py"),
    ),
    "scoring": (
        ("experiments/scoring.py",),
        (SURVIVORS, *(f"tests/unit/experiments/test_{name}.py" for name in ("scoring", "grid"))),
    ),
    "timing": (("timing/analysis.py",), ("tests/unit/timing/test_analysis.py",)),
    "progress": (("course/progress.py",), ("tests/unit/trust/test_progress_file.py",)),
    "classroom": (
        ("course/classroom.py",),
        ("tests/unit/trust/test_class_files.py", "tests/unit/course/test_classroom.py"),
    ),
    "protection": (("course/protection.py",), ("tests/unit/trust/test_check_survives.py",)),
    "files": (
        ("files/growing_table.py", "files/whole.py", "files/spreadsheet.py"),
        ("tests/unit/house/test_files.py", "tests/unit/trust/test_faults.py",
         "tests/unit/trust/test_class_files.py"),
    ),
    "links": (("explorers/fields.py",), ("tests/unit/explorers/test_fields.py",)),
    "checks": (
        ("checks.py",), ("tests/unit/house/test_checks.py", "tests/unit/trust/test_fuzz.py")
    ),
    "retries": (("experiments/workers.py",), (SURVIVORS,)),
}  # fmt: skip

#: part, module, what stands there, what the mutant has instead
TABLE = (
    ("retries", "experiments/workers.py", "RETRIES = 1", "RETRIES = 0"),
    ("links", "explorers/fields.py", "len(text) > MAX_LINK_LENGTH", "False"),
    ("links", "explorers/fields.py", "len(set(names)) < len(names)", "False"),
    ("network", "core/network.py", "[seed, index]", "[seed, 0]"),
    ("training", "core/optimiser.py", "self.restore(self.last_good)\n", "pass\n"),
    ("network", "rivals/build_model.py", "random_state=seed", "random_state=0"),
    ("scoring", "experiments/scoring.py", "np.ceil(", "np.floor("),
    ("files", "files/growing_table.py", "checksum == _checksum(content).encode()", "True"),
    ("files", "files/whole.py", "fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)", "None"),
    ("progress", "course/progress.py", "with locked(FILE, SECONDS_TO_WAIT):", "if True:"),
    ("protection", "course/protection.py", "and watch.was_interrupted", ""),
)  # fmt: skip
#: generated mutants that change nothing a user can see: (module, change) → why
EQUIVALENT: dict[tuple[str, str], str] = {
    ("core/hermite.py", "expand: mean[:, None] + deviation[:, None] * nodes, Sub"):
        "the nodes are symmetric: odd coefficients change their sign, and their products do not",
    ("core/flows.py", "unsolved: 1.0 + 1"):
        "a root may be twice as inexact, which is still below 1e-12",
    ("core/flows.py", "_solve_increasing: low + high, Sub"):
        "where the search for a root starts",
    ("core/flows.py", "_solve_increasing: 0.5 + 1"):
        "where the search for a root starts",
    ("core/flows.py", "improve: value > 0.0, GtE"):
        "at the root itself, where the search has ended",
    ("files/growing_table.py", "_written: 0 + 1"):
        "one byte of a line is as incomplete as none",
    ("files/growing_table.py", "_is_checked: 2 + 1"):
        "into how many pieces a file is split, of which the second line is one",
    ("explorers/fields.py", "check_number: low - slack <= value <= high + slack, Lt"):
        "a value that misses the range by exactly the allowance for rounding errors",
    ("explorers/fields.py", "check: 10 + 1"):
        "rounding errors that are removed lie beyond the 15th digit",
    ("course/protection.py", "_on_alarm: self.alarms > 1, GtE"):
        "an answer that catches the first alarm is stopped at once, not at the second",
    ("course/progress.py", "_text: 1 + 1"):
        "how far lines of the file are indented",
    ("course/protection.py", "_on_alarm: 1 + 1"):
        "an answer that catches the first alarm is stopped an alarm earlier or later",
    ("experiments/scoring.py", "calibrated_ece: rng.random(len(p)) < confidence, LtE"):
        "a random number is never equal to a confidence",
    ("experiments/scoring.py", "select: 0 + 1"):
        "of a table without rows, which is all that is left if no run has finished",
    ("timing/analysis.py", "_groups: 0 + 1"):
        "which of the ratios all others are compared with",
    ("timing/analysis.py", "_growth: slope['low'] <= 0.0, Lt"):
        "the end of an interval of random draws is never exactly 0",
    ("timing/analysis.py",
     "_cost_terms: count['network'] * outputs // (size.num_inputs + outputs), Div"):
        "less than one operation of many",
    ("timing/analysis.py",
     "bootstrap: values.mean() + chosen * spread / max(pooled, 1e-12) + drift, Sub"):
        "normal random numbers, which are as likely with the other sign",
    ("timing/analysis.py", "speedups: 1 + 1"):
        "the seed of the second draws: any but that of the first",
    ("timing/analysis.py", "fixed_share: 2 + 1"):
        "what depends on C differs at three times C as it does at twice C",
}  # fmt: skip

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATIONS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div, ast.MatMult: ast.Mult, ast.Mod: ast.FloorDiv,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: the part, the module, the change in words, and what makes the new source."""

    part: str
    module: str
    words: str
    source: Callable[[], str]


def from_table(parts: set[str]) -> Iterator[Mutant]:
    """The mutants of `TABLE`."""
    for part, module, old, new in TABLE:
        source = (ROOT / PACKAGE / module).read_text(encoding="utf-8")
        if source.count(old) < 1:
            raise SystemExit(f"{module}: {old!r} is not there; bring the table up to date")
        if part in parts:
            words = f"{old.strip()} → {new.strip() or 'nothing'}"
            yield Mutant(part, module, words, partial(source.replace, old, new))


def generated(part: str) -> list[Mutant]:
    """All generated mutants of a part."""
    found = []
    for module in PARTS[part][0]:
        tree = ast.parse((ROOT / PACKAGE / module).read_text(encoding="utf-8"))
        function_of = {id(n): f.name for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)
                       for n in ast.walk(f)}  # fmt: skip
        for index, node in enumerate(ast.walk(tree)):
            for change, words in _changes(node) if id(node) in function_of else ():
                words = f"{function_of[id(node)]}: {words}"
                source = partial(_with_change, tree, index, change)
                found.append(Mutant(part, module, words, source))
    return found


def _with_change(tree: ast.Module, index: int, change: Callable[[ast.AST], None]) -> str:
    """The source with the node of that index changed."""
    mutated = copy.deepcopy(tree)
    change(next(node for i, node in enumerate(ast.walk(mutated)) if i == index))
    return ast.unparse(ast.fix_missing_locations(mutated))


def _changes(node: ast.AST) -> Iterator[tuple]:
    """What can be changed in a node: how, and in words."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        other = COMPARISONS[type(node.ops[0])]
        yield lambda n: n.ops.__setitem__(0, other()), f"{ast.unparse(node)}, {other.__name__}"
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS and not _is_text(node):
        other = OPERATIONS[type(node.op)]
        yield lambda n: setattr(n, "op", other()), f"{ast.unparse(node)}, {other.__name__}"
    elif isinstance(node, ast.If):
        yield (
            lambda n: setattr(n, "test", ast.Constant(False)),
            f"if {ast.unparse(node.test)}: never",
        )
    elif isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield lambda n: setattr(n, "op", other()), f"{ast.unparse(node)}, {other.__name__}"
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield lambda n: setattr(n, "value", node.value + 1), f"{node.value} + 1"


def _is_text(node: ast.BinOp) -> bool:
    """Whether an operation joins texts: a changed message is not a changed behaviour."""
    parts = (node.left, node.right)
    return any(isinstance(p, (ast.JoinedStr, ast.List, ast.Tuple)) for p in parts) or any(
        isinstance(p, ast.Constant) and isinstance(p.value, str) for p in parts
    )


class Costs:
    """Measures the tests of a part; later leaves out slow ones and sorts the others."""

    def __init__(self, file: Path) -> None:
        self.file, self.seconds = file, {}
        #: test → seconds of the processor, and of the clock: some tests wait
        self.known = json.loads(file.read_text()) if file.exists() else {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Run the quick tests, the quickest first."""
        if self.known:
            items[:] = [item for item in items if self._is_quick(item.nodeid)]
            items.sort(key=lambda item: self.known[item.nodeid][1])

    def in_order(self, files: Iterable[str]) -> list[list[str]]:
        """The files to run one after another, the quickest first; all at once to measure them."""
        totals: Counter[str] = Counter()
        for test, (_, clock) in self.known.items():
            totals[test.partition("::")[0]] += clock if self._is_quick(test) else 0.0
        return [[file] for file in sorted(files, key=totals.__getitem__)] if totals else [[*files]]

    def _is_quick(self, test: str) -> bool:
        return self.known.get(test, (LONGEST, LONGEST))[0] < LONGEST

    @property
    def deadline(self) -> float:
        """Seconds after which the tests of a mutant will never end."""
        usual = sum(clock for test, (_, clock) in self.known.items() if self._is_quick(test))
        return MORE_SECONDS + PATIENCE * usual if self.known else SECONDS

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measure the time that a test takes, with what is set up for it."""
        start = time.process_time(), time.perf_counter()
        result = yield
        end = time.process_time(), time.perf_counter()
        self.seconds[item.nodeid] = [b - a for a, b in zip(start, end, strict=True)]
        return result

    def pytest_sessionfinish(self) -> None:
        """Write down what was measured the first time."""
        if not self.known:
            self.file.write_text(json.dumps(self.seconds))


@dataclass
class Run:
    """The tests of a mutant at work in a process of their own."""

    mutant: Mutant | None  # None: the code as it is
    part: str
    process: int
    home: Path
    deadline: float

    def outcome(self) -> int | None:
        """What pytest says at its end, 0 if all tests passed; None while it runs."""
        process, status = os.waitpid(self.process, os.WNOHANG)
        if process:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() < self.deadline:
            return None
        os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        return NEVER_ENDED


def load_libraries() -> None:
    """Import what takes long, but nothing that a mutant changes."""
    sys.path.insert(0, str(ROOT))
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in ("etgp_viz.backend", *LIBRARIES):
        import_module(name)
    if (threads := len(os.listdir("/proc/self/task"))) != 1:
        raise SystemExit(f"{threads} threads after loading; a fork needs just one")
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    sys.path.remove(str(ROOT))
    gc.freeze()


def start(part: str, mutant: Mutant | None, home: Path) -> Run:
    """Begin to run the tests of a part in a copy of the project."""
    costs = Costs(home.parent / f"{part}.json")
    if mutant:
        (home / PACKAGE / mutant.module).write_text(mutant.source(), encoding="utf-8")
    process = os.fork()
    if process:
        with contextlib.suppress(PermissionError):  # it has done so itself
            os.setpgid(process, process)
        return Run(mutant, part, process, home, time.monotonic() + costs.deadline)
    status = 2
    try:
        os.setpgid(0, 0)
        os.chdir(home)
        sys.path.insert(0, str(home))
        os.environ["PYTHONPATH"] = str(home)
        sys.dont_write_bytecode = mutant is not None
        output = os.open(home / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        options = ["-q", "-x", "--tb=short", "-p", "no:cacheprovider", "-m", "not slow"]
        for files in costs.in_order(PARTS[part][1]):
            status = pytest.main([*options, *files], plugins=[costs])
            if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                break
            status = 0
    finally:
        sys.stdout.flush()
        os._exit(int(status))


def finish(run: Run) -> None:
    """Put the code back as it is."""
    if run.mutant:
        original = ROOT / PACKAGE / run.mutant.module
        shutil.copyfile(original, run.home / PACKAGE / run.mutant.module)


def outcomes(work: Iterable[tuple[str, Mutant | None]], homes: list[Path]) -> Iterator[tuple]:
    """Each mutant with the outcome of its tests, as many at a time as there are homes."""
    free, running, todo = list(homes), [], iter(work)
    while True:
        while free and (entry := next(todo, None)):
            running.append(start(*entry, free.pop()))
        if not running:
            return
        time.sleep(0.05)
        for run in list(running):
            if (status := run.outcome()) is not None:
                running.remove(run)
                yield run.part, run.mutant, status, run.home
                finish(run)
                free.append(run.home)


def copy_project(home: Path) -> Path:
    """A copy of what the tests need."""
    for name in (PACKAGE, "tests", "notebooks", "tools", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, home / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, home)
    return home


def choose(options: argparse.Namespace, parts: list[str]) -> list[Mutant]:
    """The mutants of the table and a random choice of the generated ones."""
    pool = [mutant for part in parts if part != "retries" for mutant in generated(part)]
    pool = [mutant for mutant in pool if (mutant.module, mutant.words) not in EQUIVALENT]
    random.Random(options.seed).shuffle(pool)
    mutants = [*from_table(set(parts)), *pool[: options.count]]
    mutants = [
        mutant
        for mutant in mutants
        if any(text in f"{mutant.module}: {mutant.words}" for text in options.only or ("",))
    ]
    return mutants[options.skip :]


def main() -> int:
    """Try the mutants, print what survived and one line for each part; 1 if too many survived."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", help=f"parts to change: {', '.join(PARTS)}")
    parser.add_argument("--count", type=int, default=300, help="generated mutants (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="of their choice")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time (default: 2)")
    parser.add_argument("--skip", type=int, default=0, help="mutants tried in an earlier run")
    parser.add_argument("--only", nargs="+", help="only those whose line contains one of these")
    options = parser.parse_args()
    parts = options.parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(unknown)}")
    mutants = choose(options, parts)
    counts = {part: [0, 0] for part in parts}
    load_libraries()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # some tests are nobody for a moment, and come back here
        homes = [copy_project(Path(folder) / str(number)) for number in range(options.jobs)]
        for part, _, status, home in outcomes(((part, None) for part in parts), homes):
            if status:
                print((home / "output.txt").read_text(encoding="utf-8", errors="replace"))
                raise SystemExit(f"{part}: its tests fail without any change")
        work = [(mutant.part, mutant) for mutant in mutants]
        for number, (part, mutant, status, _) in enumerate(outcomes(work, homes), start=1):
            counts[part][0] += 1
            if status == 0:
                counts[part][1] += 1
                print(f"survived: {mutant.module}: {mutant.words}", flush=True)
            elif status == NEVER_ENDED:
                print(f"never ended: {mutant.module}: {mutant.words}", flush=True)
            if number % 25 == 0:
                print(f"{number} of {len(mutants)} tried", flush=True)
    print(f"{'part':12} {'mutants':>8} {'survived':>9}")
    for part, (tried, alive) in counts.items():
        print(f"{part:12} {tried:8} {alive:9}")
    tried, alive = (sum(column) for column in zip(*counts.values(), strict=True))
    print(f"{'all':12} {tried:8} {alive:9}  ({alive / max(tried, 1):.1%})")
    return int(alive > MOST_SURVIVORS * tried)


if __name__ == "__main__":
    sys.exit(main())
