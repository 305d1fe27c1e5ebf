"""Index of the numbers behind the pictures, one module per story.

Functions take arrays and models and return records: frozen dataclasses of plain arrays, which
`etgp_viz.figures` draws. A module is imported when it is first used.

>>> from etgp_viz import records
>>> print(records.STORIES["flow"])
one Gaussian process under one flow: paths, map, density, covariance
"""

from etgp_viz.lazy import lazy_names

__all__ = ["STORIES"]

#: module → what it computes
STORIES = {
    "prior": "draws from the prior, and parameters of flows over x",
    "posterior": "GP regression: prior, posterior, draws and log marginal likelihood",
    "flow": "one Gaussian process under one flow: paths, map, density, covariance",
    "shared_latent": "C classes that share one latent, or have one each",
    "covariance": "covariances between warped processes: Proposition 1 and its Hermite series",
    "covariance_check": "these covariances against Monte Carlo",
    "several_latents": "how tightly two classes are tied, with one latent and with more",
    "inference": "what an ETGP believes about inputs of one or two dimensions",
    "live_training": "a training to be watched step by step",
    "far_away": "how sure flow parameters are, far from the data and with more data",
    "timing": "the curves of a race",
    "results": "the scores of all models on one data set",
    "close_up": "a close-up of one run of an experiment",
}

__getattr__, __dir__ = lazy_names(__name__, {name: f"records.{name}" for name in STORIES})
