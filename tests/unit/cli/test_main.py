"""What a person types."""

import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest

from etgp_viz import timing
from etgp_viz.cli import doctor, lab, main
from etgp_viz.cli import timing as timing_command
from tests.unit.timing.test_analysis import table_of, truth

CHECK_PYTHON = Path(__file__).parents[3] / "tools" / "check_python.py"


def test_help_is_instant():
    code = "import sys; from etgp_viz.cli.main import main\ntry: main(['--help'])\nfinally:\n"
    code += "    assert not {'tensorflow', 'jupyterlab'} & set(sys.modules)"
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert time.perf_counter() - start < 1.0
    assert done.returncode == 0, done.stderr
    assert "doctor" in done.stdout
    assert "lab" in done.stdout


@pytest.mark.parametrize(
    "verb",
    [
        *(["doctor"], ["lab"], ["timing"], ["experiment"], ["claims"], ["course"]),
        *(["course", "build"], ["course", "times"], ["course", "progress"]),
    ],
    ids=" ".join,
)
def test_help_of_every_verb_is_instant(verb):
    """Also as ``python -m etgp_viz.cli``."""
    code = (
        "import runpy, sys\n"
        "try: runpy.run_module('etgp_viz.cli', run_name='__main__')\n"
        "finally: assert not {'tensorflow', 'pandas', 'numpy', 'jupyterlab'} & set(sys.modules)"
    )
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *verb, "--help"], capture_output=True, text=True
    )
    assert time.perf_counter() - start < 2.0
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: etgp-viz {' '.join(verb)} ")


def test_the_doctor_s_word_is_the_exit_status(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "findings", lambda: iter([doctor.Finding("Heart", True, "beats")]))
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out == "✓ Heart: beats\n"
    sick = doctor.Finding("Heart", False, "silent", "press here")
    monkeypatch.setattr(doctor, "findings", lambda: iter([sick]))
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out == "✗ Heart: silent → press here\n"


def test_lab_passes_other_options_on(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(lab, "start", lambda *received: seen.append(received) or 0)
    assert main(["lab", "--folder", str(tmp_path), "--no-browser", "--port", "8899"]) == 0
    assert seen == [(tmp_path, ["--no-browser", "--port", "8899"])]


@pytest.mark.parametrize("kind", ["png", "svg", "html"])
def test_timing_prints_table_words_and_picture(kind, monkeypatch, tmp_path, capsys):
    seen = {}

    def sweep(models, classes, **options):
        seen.update(options, models=models, classes=classes)
        table = table_of(truth)
        table.attrs["machine"] = {"processor": "abacus", "cores": 2}
        return table

    monkeypatch.setattr(timing, "sweep", sweep)
    picture = tmp_path / f"race.{kind}"
    arguments = ["timing", "--classes", "2,10,50", "--models", "etgp-linear,svgp-shared"]
    options = ["--no-memory", "--budget", "9", "--picture", str(picture), "--minutes", "2"]
    assert main([*arguments, *options]) == 0
    assert (seen["models"], seen["classes"]) == (("etgp-linear", "svgp-shared"), (2, 10, 50))
    assert (seen["memory"], seen["budget"], seen["time_limit"]) == (False, 9.0, 120.0)
    out = capsys.readouterr().out
    assert "step (ms)" in out
    assert "A step of ETGP LINEAR grows with C, but less than in proportion" in out
    content = picture.read_bytes()
    assert len(content) > 10_000
    if kind == "html":
        assert b"cdn.plot.ly" not in content.split(b"<body>")[1][:5000]
        assert len(content) > 1_000_000  # plotly itself is inside


def test_timing_explains_what_is_wrong_and_how_to_go_on(monkeypatch, capsys, tmp_path):
    assert main(["timing", "--models", "etgp-cubic"]) == 2
    assert "models: expected one of 'etgp-linear'" in capsys.readouterr().err
    assert main(["timing", "--picture", "race.gif"]) == 2
    assert "picture: expected a .png, .svg or .html file" in capsys.readouterr().err

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(timing, "sweep", interrupted)
    assert main(["timing", "--out", str(tmp_path / "a.csv")]) == 130
    assert "--resume" in capsys.readouterr().out


def test_a_table_with_gaps_can_be_read():
    table = table_of(truth, num_inducing=(50, 100))
    table.loc[0, "step"] = float("nan")
    first, second = timing_command.format_table(table).splitlines()[:2]
    assert first.split()[:3] == ["model", "C", "M"]
    assert "–" in second


@pytest.mark.parametrize("arguments", [[], ["sing"], ["doctor", "--loud"], ["timing", "--loud"]])
def test_nonsense_is_refused(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: etgp-viz" in capsys.readouterr().err


def test_a_python_that_does_not_fit_is_named_in_one_sentence():
    complaint = runpy.run_path(str(CHECK_PYTHON))["complaint"]
    assert complaint((3, 11)) == complaint((3, 12)) == complaint((3, 13)) == ""
    assert "is Python 3.10, which is too old" in complaint((3, 10))
    assert "is Python 3.14, which is too new" in complaint((3, 14))
    assert "is Python 2.7, which is too old" in complaint((2, 7))


def test_an_environment_of_another_python_is_named_with_the_remedy(tmp_path):
    difference = runpy.run_path(str(CHECK_PYTHON))["difference"]
    assert difference(sys.executable) == ""
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho 3.9\n")
    other.chmod(0o755)
    assert "made with Python 3.9" in difference(str(other))
    assert "make clean" in difference(str(other))
