"""``fit`` as a person meets it in a notebook: its progress bar, and the stop button."""

import re

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel

SETUP = """
import numpy as np
from etgp_viz import build, fit
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Y = (X[:, :1] > 0).astype(int)
model = build("etgp-linear", X, 2, num_inducing=5)
"""


@pytest.fixture(scope="module")
def kernel():
    manager, client = start_new_kernel()
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def run(client, code, on_output=lambda message: None):
    """Run code and return its outputs; fail with the traceback of an error."""
    outputs = []

    def collect(message):
        if message["msg_type"] in ("stream", "display_data", "execute_result", "error"):
            outputs.append(nbformat.v4.output_from_msg(message))
            on_output(outputs[-1])

    client.execute_interactive(code, output_hook=collect, timeout=180)
    errors = ["\n".join(o.traceback) for o in outputs if o.output_type == "error"]
    assert not errors, errors
    return outputs


def test_progress_is_a_widget_and_nothing_else_is_said(kernel):
    outputs = run(kernel[1], SETUP + "fit(model, (X, Y), epochs=30).stopped")
    assert [o.output_type for o in outputs] == ["display_data", "execute_result"]
    assert "application/vnd.jupyter.widget-view+json" in outputs[0].data
    assert outputs[1].data["text/plain"] == "'finished'"


def test_the_stop_button_keeps_the_history_and_the_best_parameters(kernel):
    manager, client = kernel

    def stop(output):
        if "training" in output.get("text", ""):
            manager.interrupt_kernel()

    outputs = run(
        client,
        SETUP
        + "def tell(record):\n    if record.epoch == 5: print('training', flush=True)\n"
        + "result = fit(model, (X, Y), epochs=10**7, progress=False, callback=tell)\n"
        + "elbo = model.elbo((X, Y), samples=None).numpy()\n"
        + "print(result.stopped, len(result.elbo), np.isfinite(elbo))",
        stop,
    )
    said = "".join(o.text for o in outputs if o.output_type == "stream")
    epochs = re.search(r"interrupted (\d+) True", said)
    assert epochs, said
    assert int(epochs.group(1)) > 5
