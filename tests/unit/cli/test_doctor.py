"""Each check of the doctor, well and unwell."""

import sys
from importlib import metadata
from types import ModuleType, SimpleNamespace

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


@pytest.mark.parametrize(("version", "ok"), [("2.21.0", True), ("2.16.1", True), ("2.15.0", False)])
def test_versions_near_and_far(monkeypatch, version, ok):
    installed = {"tensorflow": version, "etgp-viz": "0.2"}

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


def subjects(monkeypatch):
    monkeypatch.setattr(doctor, "training", lambda: doctor.Finding("Training", True, ""))
    return [finding.subject for finding in doctor.findings()]


def test_colab_is_known_in_a_notebook_and_as_a_command(monkeypatch):
    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    assert not doctor.in_colab()
    assert "Widgets in JupyterLab" in subjects(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
        assert doctor.in_colab()
    monkeypatch.setenv("COLAB_RELEASE_TAG", "release-colab_20260801")
    assert {"Google Colab", "ipywidgets", "anywidget", "plotly"} < set(subjects(monkeypatch))
    assert "Widgets in JupyterLab" not in subjects(monkeypatch)
    assert "release-colab_20260801" in str(next(doctor.colab()))


def test_a_package_that_was_loaded_before_it_was_upgraded_asks_for_a_restart(monkeypatch):
    import plotly
    import sklearn  # noqa: F401

    assert doctor.loaded_packages().ok, str(doctor.loaded_packages())
    installed = plotly.__version__
    monkeypatch.setattr(plotly, "__version__", "5.24.1")
    finding = doctor.loaded_packages()
    assert not finding.ok
    assert finding.result == f"plotly 5.24.1 is loaded, {installed} is installed"
    assert "Restart session" in finding.advice


def test_the_light_package_trains_nothing(monkeypatch):
    versions = {"etgp-viz-light": "0.2", "numpy": "2.4.6"}
    monkeypatch.setattr(doctor, "_is_installed", versions.__contains__)
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: ["numpy>=1"])
    python = {"Requires-Python": ">=3.11"}
    monkeypatch.setattr(doctor.metadata, "metadata", {"etgp-viz-light": python}.__getitem__)
    subjects = [finding.subject for finding in doctor.findings()]
    assert "Light installation" in subjects
    assert "numpy" in subjects
    assert not {"tensorflow", "gpflow", "Training"} & set(subjects)


def test_two_packages_with_the_same_files_are_named(monkeypatch):
    monkeypatch.setattr(doctor, "_is_installed", {doctor.FULL, doctor.LIGHT}.__contains__)
    assert not doctor.light().ok
    assert "has the same files" in doctor.light().result
    monkeypatch.setattr(doctor, "_is_installed", {doctor.LIGHT}.__contains__)
    assert doctor.light().ok
