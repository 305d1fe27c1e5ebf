"""Checkpoints that version 0.1.0 wrote still resume, and end where the whole run ended then."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from etgp_viz import FlowNetwork, build, fit
from etgp_viz.backend import tf

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v0_1_0"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))
X, Y = np.array(EXPECTED["X"]), np.array(EXPECTED["Y"])


def penalty_of_0_1(network):
    """λ Σ w², without the probability of being kept."""
    weights = [layer.weights for layer in [*network.layers, network.output]]
    return network.weight_decay * tf.add_n([tf.reduce_sum(tf.square(w)) for w in weights])


@pytest.mark.parametrize("name", EXPECTED["checkpoints"])
def test_a_checkpoint_resumes(name, tmp_path, monkeypatch):
    monkeypatch.setattr(FlowNetwork, "prior_penalty", penalty_of_0_1)
    expected = EXPECTED["checkpoints"][name]
    options = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in expected["options"].items()
    }
    checkpoint = shutil.copy(FIXTURES / f"checkpoint-{name}.npz", tmp_path)
    with np.load(checkpoint) as file:
        assert len(file["history.elbo"]) == 3
    model = build(name, X, 3, num_inducing=5, **options)
    result = fit(
        model,
        (X, Y),
        epochs=5,
        batch_size=20,
        learning_rate=0.02,
        seed=3,
        progress=False,
        checkpoint=checkpoint,
    )
    np.testing.assert_allclose(result.elbo, expected["elbo"], rtol=1e-9)
    probabilities = model.predict_y(X[:4])[0]
    np.testing.assert_allclose(probabilities, expected["probabilities"], rtol=1e-8)
