"""The data of a race: sizes matter, values do not."""

import numpy as np

from etgp_viz.timing.contestants import Size

__all__ = ["data"]


def data(size: Size, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Normal inputs ``[N, D]`` and labels ``[N, 1]``, each class as often as any other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size.num_data, size.num_inputs))
    return X, rng.permutation(np.arange(size.num_data) % size.classes)[:, None]
