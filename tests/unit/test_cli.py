"""What a person types."""

import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest

from etgp_viz import cli, doctor, lab

CHECK_PYTHON = Path(__file__).parents[2] / "tools" / "check_python.py"


def test_help_is_instant():
    code = "import sys; from etgp_viz.cli import main\ntry: main(['--help'])\nfinally:\n"
    code += "    assert not {'tensorflow', 'jupyterlab'} & set(sys.modules)"
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert time.perf_counter() - start < 1.0
    assert done.returncode == 0, done.stderr
    assert "doctor" in done.stdout
    assert "lab" in done.stdout


def test_the_doctor_s_word_is_the_exit_status(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "findings", lambda: iter([doctor.Finding("Heart", True, "beats")]))
    assert cli.main(["doctor"]) == 0
    assert capsys.readouterr().out == "✓ Heart: beats\n"
    sick = doctor.Finding("Heart", False, "silent", "press here")
    monkeypatch.setattr(doctor, "findings", lambda: iter([sick]))
    assert cli.main(["doctor"]) == 1
    assert capsys.readouterr().out == "✗ Heart: silent → press here\n"


def test_lab_passes_other_options_on(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(lab, "start", lambda *received: seen.append(received) or 0)
    assert cli.main(["lab", "--folder", str(tmp_path), "--no-browser", "--port", "8899"]) == 0
    assert seen == [(tmp_path, ["--no-browser", "--port", "8899"])]


@pytest.mark.parametrize("arguments", [[], ["sing"], ["doctor", "--loud"]])
def test_nonsense_is_refused(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert "usage: etgp-viz" in capsys.readouterr().err


def test_a_python_that_does_not_fit_is_named_in_one_sentence():
    complaint = runpy.run_path(str(CHECK_PYTHON))["complaint"]
    assert complaint((3, 11)) == ""
    assert "is Python 3.10, which is too old" in complaint((3, 10))
    assert "is Python 3.12, which is too new" in complaint((3, 12))
    assert "is Python 2.7, which is too old" in complaint((2, 7))
