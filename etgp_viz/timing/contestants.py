"""Who races, in words, and what one training step of each costs on paper.

Operations are multiply–adds of the textbook algorithms in the forward pass; the gradients cost a
small multiple of them. With C classes, N rows, M inducing points and D inputs:

    kernel        M (M + N) D                for each kernel that is evaluated
    factors       M (M² − 1) / 6             one Cholesky factor L of Kzz, for each kernel
    solves        N M (M − 1) / 2            A = L⁻¹ Kzx, for each kernel
    moments       N M (M + 7) / 2            Aᵀm, |a_n|² and |Rᵀ a_n|², for each process
    network       N H (D + C P)              one hidden layer of H units, P parameters of a flow
    flows         N C P Q                    at Q nodes (ETGP), or at S draws (TGP)
    mixing        N S C²                     the matrix W of RBFCORR, at each draw
    softmax       N C Q  or  N C S           exponentials

The paper's O(CM³ + CNM²), O(M³ + CNM²) and O(M³ + NM²) are the leading terms of the four in the
middle, with C kernels and C processes, one kernel and C processes, and one of each.
"""

from dataclasses import dataclass

__all__ = ["MODELS", "Model", "Size", "bytes_needed", "operations"]

#: H, Q and S of every race: the defaults of the models
HIDDEN = 50
NODES = 20
DRAWS = 100


@dataclass(frozen=True)
class Size:
    """The size of a race: C, N, M and D."""

    classes: int
    num_data: int
    num_inducing: int
    num_inputs: int


@dataclass(frozen=True)
class Model:
    """A contestant.

    Attributes
    ----------
    label : its name in pictures
    words : what it is, in a phrase
    kernel_per_class : whether each class has its kernel evaluated and factorised
    process_per_class : whether each class has its own Gaussian process
    num_params : P, of each class's flow; 0 without flows
    mixes : whether a matrix mixes the processes
    """

    label: str
    words: str
    kernel_per_class: bool = True
    process_per_class: bool = True
    num_params: int = 0
    mixes: bool = False


def _etgp(flow: str, num_params: int) -> Model:
    words = f"one Gaussian process and C {flow} flows"
    return Model(f"ETGP {flow}", words, False, False, num_params)


MODELS = {
    "etgp-linear": _etgp("LINEAR", 2),
    "etgp-sal": _etgp("SAL", 12),
    "etgp-tanh": _etgp("TANH", 12),
    "svgp-separate": Model("SVGP separate", "C kernels and C processes, GPflow's own loops"),
    "svgp-shared": Model("SVGP shared", "one kernel, C processes, GPflow's own loops", False),
    "svgp-rbfcorr": Model(
        "SVGP RBFCORR",
        "C processes mixed by a matrix; one kernel, evaluated C times as GPflow does",
        mixes=True,
    ),
    "svgp-rbfcorr-once": Model(
        "RBFCORR, kernel once",
        "C processes mixed by a matrix; one kernel, evaluated once",
        False,
        mixes=True,
    ),
    "svgp-batched": Model("SVGP batched", "C kernels and C processes in batched operations"),
    "tgp": Model("naive TGP", "C processes, each with its own linear flow, batched", num_params=2),
    "gpytorch-batched": Model("GPyTorch batched", "C kernels and C processes in PyTorch"),
}


def operations(name: str, size: Size) -> dict[str, int]:
    """Multiply–adds of the forward pass of one training step, by the terms above."""
    model, C, N = MODELS[name], size.classes, size.num_data
    M, D, P = size.num_inducing, size.num_inputs, model.num_params
    kernels = C if model.kernel_per_class else 1
    processes = C if model.process_per_class else 1
    values = DRAWS if model.process_per_class else NODES
    return {
        "kernel": kernels * M * (M + N) * D,
        "factors": kernels * (M * (M * M - 1) // 6),
        "solves": kernels * (N * M * (M - 1) // 2),
        "moments": processes * (N * M * (M + 7) // 2),
        "network": N * HIDDEN * (D + C * P) if P else 0,
        "flows": N * C * P * values,
        "mixing": N * DRAWS * C * C if model.mixes else 0,
        "softmax": N * C * values,
    }


def bytes_needed(name: str, size: Size) -> int:
    """A low estimate of what a step must hold at once, in bytes: its largest arrays, in float64.

    It only refuses what cannot fit; what runs is watched while it runs.
    """
    model, C, N, M = MODELS[name], size.classes, size.num_data, size.num_inducing
    matrices = C * M * (M + N) if model.process_per_class else M * (M + N)
    draws = 2 * DRAWS * N * C if model.process_per_class else 4 * N * C * model.num_params
    return 8 * (2 * matrices + draws)
