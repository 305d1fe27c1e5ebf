"""Who races, on which data, and what one training step of each contestant costs on paper.

Operations are multiply–adds of the textbook algorithms in the forward pass; the gradients cost a
small multiple of them. With C classes, N rows, M inducing points and D inputs:

    kernel        M (M + N) D                for each kernel that is evaluated
    factors       M (M² − 1) / 6             one Cholesky factor L of Kzz, for each kernel
    solves        N M (M − 1) / 2            A = L⁻¹ Kzx, for each kernel
    moments       N M (M + 7) / 2            Aᵀm, |a_n|² and |Rᵀ a_n|², for each process
    network       N H (D + C P)              one hidden layer of H units, P parameters of a flow
    flows         N C P Q                    at Q nodes (ETGP), or at S draws (TGP)
    mixing        N S C²                     the matrix W of RBFCORR, at each draw
    softmax       N C Q  or  N C S           exponentials (robust-max: distribution functions)

The paper's O(CM³ + CNM²), O(M³ + CNM²) and O(M³ + NM²) are the leading terms of factors, solves
and moments with C kernels and C processes, one kernel and C processes, and one of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np

from etgp_viz.checks import check_choice
from etgp_viz.rivals import names

__all__ = ["MODELS", "Contestant", "Size", "bytes_needed", "operations", "random_data"]

#: H, Q and S of every race: the defaults of the models. S is the number of draws of a training
#: step; predictions by Monte Carlo have `names.PREDICTIVE_DRAWS`.
HIDDEN = 50
NODES = 20
DRAWS = 100
#: dropout samples of a Bayesian prediction (BA), as in the paper
SAMPLES = 20


@dataclass(frozen=True)
class Size:
    """The size of a race: C, N, M and D.

    Examples
    --------
    >>> Size(classes=10, num_data=1000, num_inducing=100, num_inputs=2).num_inducing
    100
    """

    classes: int  # C
    num_data: int  # N, rows of a mini-batch
    num_inducing: int  # M
    num_inputs: int  # D


@dataclass(frozen=True)
class Contestant:
    """A model of the race.

    Attributes
    ----------
    label, words : its name in figures, and what it is in a phrase
    model, options : its name in `etgp_viz.build`, and what that takes besides M
    kernel_per_class : whether each class has its own kernel evaluated and factorised
    process_per_class : whether each class has its own Gaussian process
    library : what it is computed with, ``"tensorflow"`` or ``"torch"``
    """

    label: str
    words: str
    model: str
    options: Mapping[str, Any] = field(default_factory=dict)
    kernel_per_class: bool = True
    process_per_class: bool = True
    library: str = "tensorflow"

    @property
    def num_params(self) -> int:
        """P, the parameters of each class's flow; 0 without flows."""
        return names.MODELS[self.model].num_params

    @property
    def is_monte_carlo(self) -> bool:
        """Whether expectations are averages over draws, and not quadratures."""
        return names.MODELS[self.model].is_monte_carlo

    @property
    def values(self) -> int:
        """Values of each process per row in a training step: S draws, or Q nodes."""
        return DRAWS if self.is_monte_carlo else NODES

    @property
    def mixes(self) -> bool:
        """Whether a matrix mixes the processes."""
        return names.MODELS[self.model].variant == "rbfcorr"


_NETWORK = {"hidden": (HIDDEN,), "precision": "float32"}
_SVGP = {"num_monte_carlo": DRAWS}

#: name in the race → contestant
MODELS = {
    **{
        name: Contestant(
            names.MODELS[name].label,
            f"one Gaussian process and C {names.MODELS[name].variant.upper()} flows",
            name,
            {"num_quadrature": NODES, **_NETWORK},
            kernel_per_class=False,
            process_per_class=False,
        )
        for name in names.ETGPS
    },
    "svgp-separate": Contestant(
        "SVGP separate",
        "C kernels and C processes, GPflow's own loops",
        "svgp-rbf",
        {"sharing": "separate", **_SVGP},
    ),
    "svgp-shared": Contestant(
        "SVGP shared",
        "one kernel, C processes, GPflow's own loops",
        "svgp-rbf",
        {"sharing": "shared", **_SVGP},
        kernel_per_class=False,
    ),
    # Not built by `build`: see `etgp_viz.timing.contestant_models`.
    "svgp-rbfcorr": Contestant(
        "SVGP RBFCORR",
        "C processes mixed by a matrix; one kernel, evaluated C times as GPflow does",
        "svgp-rbfcorr",
        _SVGP,
    ),
    "svgp-rbfcorr-once": Contestant(
        "RBFCORR, kernel once",
        "C processes mixed by a matrix; one kernel, evaluated once",
        "svgp-rbfcorr",
        {"sharing": "shared", **_SVGP},
        kernel_per_class=False,
    ),
    "svgp-batched": Contestant(
        "SVGP batched",
        "C kernels and C processes in batched operations",
        "svgp-rbf",
        {"batched": True, **_SVGP},
    ),
    "svgp-batched-shared": Contestant(
        "SVGP batched shared",
        "one kernel, C processes in batched operations",
        "svgp-rbf",
        {"sharing": "shared", "batched": True, **_SVGP},
        kernel_per_class=False,
    ),
    "svgp-robustmax": Contestant(
        "SVGP robust-max",
        "one kernel, C processes in batched operations, and a likelihood without Monte Carlo",
        "svgp-robustmax",
        {"sharing": "shared", "batched": True},
        kernel_per_class=False,
    ),
    "tgp": Contestant(
        "naive TGP",
        "C processes, each with its own linear flow, batched",
        "tgp",
        {"batched": True, **_SVGP, **_NETWORK},
    ),
    "gpytorch-batched": Contestant(
        "GPyTorch batched",
        "C kernels and C processes in PyTorch",
        "svgp-rbf",
        library="torch",
    ),
}


def operations(name: str, size: Size) -> dict[str, int]:
    """Multiply–adds of the forward pass of one training step.

    Parameters
    ----------
    name : a key of `MODELS`
    size : C, N, M and D

    Returns
    -------
    dictionary : term of the table in this module → number of multiply–adds

    Examples
    --------
    Ten times as many classes cost an SVGP ten times as many Cholesky factors, ETGP none:

    >>> from etgp_viz import timing
    >>> few, many = timing.Size(10, 1000, 100, 10), timing.Size(100, 1000, 100, 10)
    >>> for name in ("svgp-separate", "etgp-linear"):
    ...     print(name, *(timing.operations(name, size)["factors"] for size in (few, many)))
    svgp-separate 1666500 16665000
    etgp-linear 166650 166650
    """
    model = MODELS[check_choice(name, "name", tuple(MODELS))]
    (C, N, M, D), P = astuple(size), model.num_params
    kernels = C if model.kernel_per_class else 1
    processes = C if model.process_per_class else 1
    return {
        "kernel": kernels * M * (M + N) * D,
        "factors": kernels * (M * (M * M - 1) // 6),
        "solves": kernels * (N * M * (M - 1) // 2),
        "moments": processes * (N * M * (M + 7) // 2),
        "network": N * HIDDEN * (D + C * P) if P else 0,
        "flows": N * C * P * model.values,
        "mixing": N * DRAWS * C * C if model.mixes else 0,
        "softmax": N * C * model.values,
    }


def bytes_needed(name: str, size: Size) -> int:
    """A lower bound on the memory of a step (bytes): its largest arrays, in float64.

    It only refuses what cannot fit; a model that runs is watched while it runs.
    """
    model, C, N, M = MODELS[name], size.classes, size.num_data, size.num_inducing
    matrices = C * M * (M + N) if model.process_per_class else M * (M + N)
    draws = 2 * model.values * N * C if model.process_per_class else 4 * N * C * model.num_params
    return 8 * (2 * matrices + draws)


def random_data(size: Size, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Data to race on: normal inputs ``[N, D]`` and labels ``[N, 1]``, all classes equally often.

    Times depend on the sizes of the arrays, not on their values.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size.num_data, size.num_inputs))
    return X, rng.permutation(np.arange(size.num_data) % size.classes)[:, None]
