"""Importing and training print nothing; importing costs nothing until a model is needed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def run(code: str, **options) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    environment |= options.pop("level", {})
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, **options
    )


def test_importing_the_package_loads_no_tensorflow():
    done = run("import etgp_viz, sys; assert 'tensorflow' not in sys.modules")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 12), reason="only later Pythons warn there")
def test_the_first_import_after_an_installation_is_quiet_too(tmp_path):
    """Nothing is compiled then, and what GPflow 2.9 has in its strings makes Python 3.12 warn."""
    environment = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONWARNINGS": "error::SyntaxWarning"}
    done = run("import etgp_viz.backend", env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_everything_is_imported_trained_and_used_without_a_word():
    """On some processors TensorFlow complains in its own log, past Python's warnings."""
    done = run(
        "import etgp_viz\n"
        "for name in etgp_viz.__all__: getattr(etgp_viz, name)\n"
        "import numpy as np\n"
        "from etgp_viz import build, fit\n"
        "X = np.random.default_rng(0).normal(size=(30, 2))\n"
        "Y = np.digitize(X[:, :1], [-0.5, 0.5])\n"
        "for name in ('etgp-tanh', 'svgp-nnet'):\n"
        "    model = build(name, X, 3, num_inducing=4)\n"
        "    fit(model, (X, Y), epochs=2, progress=False)\n"
        "    model.predict_y(X)\n"
        "    if name.startswith('etgp'): model.predict_y(X, samples=3)\n"
        "model = build('boosting', X, 3)\n"
        "model.train((X, Y))\n"
        "model.predict_y(X)\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_unknown_name_is_an_attribute_error():
    import etgp_viz

    assert "fit" in dir(etgp_viz)
    with pytest.raises(AttributeError, match="no attribute 'gaussian'"):
        _ = etgp_viz.gaussian


@pytest.fixture
def stand_ins(tmp_path):
    """Instant stand-ins for the heavy imports; GPflow's writes to descriptor 2 like TensorFlow."""
    (tmp_path / "tensorflow_probability.py").touch()
    for name in ("check_shapes", "tensorflow"):
        (tmp_path / f"{name}.py").write_text(
            "import sys, unittest.mock\nsys.modules[__name__] = unittest.mock.MagicMock()\n"
        )
    (tmp_path / "gpflow.py").write_text(
        "import os\ntry: os.write(2, b'native words\\n')\nexcept OSError: pass\n"
    )
    return tmp_path


def run_backend(stand_ins: Path, **options) -> subprocess.CompletedProcess:
    path = os.pathsep.join([str(stand_ins), str(ROOT)])
    code = "import etgp_viz.backend, os; print(os.environ['TF_CPP_MIN_LOG_LEVEL'])"
    return run(code, env={"PYTHONPATH": path}, **options)


def test_native_words_are_held_back(stand_ins):
    done = run_backend(stand_ins)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


@pytest.mark.parametrize(("level", "heard"), [("0", "native words\n"), ("3", "")])
def test_the_level_that_the_user_set_counts(stand_ins, level, heard):
    done = run_backend(stand_ins, level={"TF_CPP_MIN_LOG_LEVEL": level})
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{level}\n", heard)


@pytest.mark.parametrize(("level", "is_quiet"), [("1", False), ("2", True)])
def test_a_kernel_that_a_program_of_ours_starts_is_as_quiet(stand_ins, level, is_quiet):
    """It inherits level 2; handouts and the site showed TensorFlow's warnings about retracing."""
    path = os.pathsep.join([str(stand_ins), str(ROOT)])
    code = "from etgp_viz.backend import tf; print(tf.get_logger().setLevel.called)"
    done = run(code, env={"PYTHONPATH": path}, level={"TF_CPP_MIN_LOG_LEVEL": level})
    assert (done.returncode, done.stdout) == (0, f"{is_quiet}\n")


def test_a_failing_import_tells_all(stand_ins):
    with (stand_ins / "gpflow.py").open("a") as file:
        file.write("raise ImportError('a library is missing')\n")
    done = run_backend(stand_ins)
    assert done.returncode == 1
    assert "native words" in done.stderr
    assert "ImportError: a library is missing" in done.stderr


def test_a_closed_descriptor_does_no_harm(stand_ins):
    done = run_backend(stand_ins, preexec_fn=lambda: os.close(2))
    assert (done.returncode, done.stdout) == (0, "2\n")
