"""The micro-lab of Cholesky factors."""

import numpy as np
import pandas as pd
import pytest

from etgp_viz.backend import tf
from etgp_viz.timing import cholesky


def test_every_way_gives_the_same_factors():
    root = np.random.default_rng(0).normal(size=(3, 4, 4))
    matrices = root @ np.swapaxes(root, 1, 2) + np.eye(4)
    expected = np.stack([np.linalg.cholesky(each) for each in matrices])
    for way, action in cholesky._contestants(tf.constant(matrices)).items():
        np.testing.assert_allclose(action(), expected[0] if way == "one" else expected)


@pytest.mark.slow
def test_every_size_is_timed_every_way():
    table = cholesky.ways((2, 3), (4, 5), repeats=3, progress=False)
    assert len(table) == 4 * 2 * 2
    assert (table["low"] <= table["seconds"]).all()
    assert (table["seconds"] > 0).all()
    assert len(cholesky.describe(table)) == 3


def test_the_sentences_follow_the_figures():
    def table(loop):
        seconds = {"one": 1.0, "batched": 10.0, "map_fn": loop, "python": 15.0}
        rows = [(way, 153, 100, s, s, s) for way, s in seconds.items()]
        return pd.DataFrame(
            rows, columns=["way", "classes", "num_inducing", "seconds", "low", "high"]
        )

    sentences = cholesky.describe(table(40.0))
    assert "153 Cholesky factors of 100×100 takes 10.0 times as long as one" in sentences[0]
    assert "tf.map_fn, takes 4.0 times as long as the batch" in sentences[1]
    assert "75% of the time of tf.map_fn is the loop" in sentences[2]
    assert "costs next to nothing" in cholesky.describe(table(10.0))[2]


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="classes: "):
        cholesky.ways((0,), (4,), progress=False)
