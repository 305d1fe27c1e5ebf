"""Each check of the doctor, well and unwell."""

from importlib import metadata
from types import SimpleNamespace

import pytest

from etgp_viz.cli import doctor


@pytest.mark.slow
def test_this_environment_is_well():
    report = doctor.examine()
    assert report.ok, str(report)
    assert "ten steps took the ELBO from" in str(report)


def test_training_must_improve_the_bound():
    assert doctor.training(lambda: (-2.0, -1.0)).ok
    assert not doctor.training(lambda: (-1.0, -2.0)).ok


def test_a_failing_import_is_a_finding_and_no_crash():
    def broken():
        raise ImportError("no such library")

    finding = doctor.training(broken)
    assert not finding.ok
    assert "no such library" in finding.result


def test_another_python(monkeypatch):
    monkeypatch.setattr(doctor.platform, "python_version", lambda: "3.9.1")
    assert not doctor.python_version().ok


@pytest.mark.parametrize(("version", "ok"), [("2.21.0", True), ("2.21.9", True), ("2.20.0", False)])
def test_versions_near_and_far(monkeypatch, version, ok):
    installed = {"tensorflow": version}

    def lookup(name):
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(doctor.metadata, "version", lookup)
    assert doctor.package_version("tensorflow").ok == ok
    missing = doctor.package_version("gpflow")
    assert (missing.ok, missing.result) == (False, "not installed")
    assert "pip install 'gpflow" in missing.advice
    installed["tensorflow-cpu"] = version
    assert not doctor.package_version("tensorflow").ok


def test_a_missing_widget_extension_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("jupyter_core.paths.jupyter_path", lambda *_: [str(tmp_path)])
    assert "ipywidgets and anywidget" in doctor.widget_front_end().result
    for extension in doctor.WIDGET_EXTENSIONS:
        (tmp_path / extension).mkdir(parents=True)
        (tmp_path / extension / "package.json").touch()
    assert doctor.widget_front_end().ok


def test_little_memory(monkeypatch):
    monkeypatch.setattr(doctor.psutil, "virtual_memory", lambda: SimpleNamespace(available=2**29))
    finding = doctor.memory()
    assert (finding.ok, finding.result) == (False, "0.5 GiB")


def test_no_browser_is_told_but_does_not_count(monkeypatch):
    monkeypatch.setattr(doctor, "find_browser", lambda: None)
    finding = doctor.browser()
    assert not finding.ok
    assert doctor.Report((finding,)).ok


def test_a_browser_on_the_path_comes_first(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: f"/somewhere/{name}")
    assert doctor.find_browser() == f"/somewhere/{doctor.BROWSERS[0]}"


def test_a_report_shows_in_a_notebook():
    report = doctor.Report((doctor.Finding("A<B", False, "no", "do"),))
    assert "✗ A&lt;B: no → do" in report._repr_html_()
    assert not report.ok
