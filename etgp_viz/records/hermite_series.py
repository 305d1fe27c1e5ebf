"""The Hermite series of warped processes term by term, for pictures of their covariances.

`etgp_viz.core.hermite` has the mathematics, and sums the same series for predictions.
"""

from dataclasses import dataclass, replace

import numpy as np

from etgp_viz.backend import check_shapes
from etgp_viz.checks import check_count, check_flow, fail
from etgp_viz.core.flows import Flow
from etgp_viz.core.hermite import expand, mehler, standardised

__all__ = ["HermiteSeries", "hermite_series"]


@dataclass(frozen=True)
class HermiteSeries:
    """The Hermite coefficients of C warps at N inputs, and an estimate of the error they leave.

    >>> from etgp_viz.core.flows import Linear
    >>> K, flat = np.array([[1.0, 0.5], [0.5, 1.0]]), np.tile([2.0, 0.0], (1, 2, 1))
    >>> series = hermite_series(K, Linear(), flat)  # f = 2·f0: one term is enough
    >>> series.order, series.pair(0, 0).round(6).tolist()
    (1, [[4.0, 2.0], [2.0, 4.0]])
    >>> series.joint().shape, series.every(2).joint().shape  # of both inputs, and of the first
    ((2, 2), (1, 1))

    The series of exp(f0) does not end. Its first term alone is too small:

    >>> from etgp_viz.core.flows import Exp
    >>> series = hermite_series(K, Exp(), np.zeros((1, 2, 0)))
    >>> first = series.up_to(1)
    >>> bool(np.allclose(first.pair(0, 0), series.term(1, 0, 0)))
    True
    >>> error = series.pair(0, 0)[0, 1] - first.pair(0, 0)[0, 1]
    >>> print(error.round(2), "<", first.error_estimate(0, 0)[0, 1].round(2))
    0.4 < 0.49
    """

    correlation: np.ndarray  # ρ of f0 [N, N]
    # h_n^c(x) for n = 0..order [C, N, order + 1]; n = 0 is the mean of f^c(x)
    coefficients: np.ndarray
    # Σ_{n > order} h_n^c(x)², the variance that the series leaves out [C, N]
    remainder: np.ndarray
    # √(Σ_n (error of h_n^c(x))²) of the rule, from above: that of half its nodes [C, N]
    rule_error: np.ndarray
    # cosines between the classes' mixtures of several latents [C, C]; None for one latent
    overlap: np.ndarray | None = None

    @property
    def order(self) -> int:
        """The power of ρ at which the series ends."""
        return self.coefficients.shape[-1] - 1

    def term(self, n: int, c: int, d: int) -> np.ndarray:
        """The n-th term of Cov[f^c, f^d] ``[N, N]``, n = 1..order."""
        check_count(n, "n", minimum=1, maximum=self.order)
        h = self.coefficients
        return h[c, :, n, None] * h[d, None, :, n] * self._rho(c, d) ** n

    def pair(self, c: int, d: int) -> np.ndarray:
        """Cov[f^c, f^d] ``[N, N]``."""
        return mehler(self._rho(c, d), self.coefficients[c], self.coefficients[d])

    def _rho(self, c: int, d: int) -> np.ndarray:
        """The correlation of what two classes warp ``[N, N]``."""
        return self.correlation if self.overlap is None else self.overlap[c, d] * self.correlation

    def error_estimate(self, c: int, d: int) -> np.ndarray:
        """An estimate, from above, of the error of `pair` ``[N, N]``.

        By Cauchy and Schwarz the terms left out sum to |Σ_{n>m} h_n^c h_n^d ρⁿ| ≤ |ρ|^(m+1)
        √(remainder^c remainder^d), and an error e of the coefficients, in the Euclidean norm, to
        |ρ| (‖h^c‖ e^d + ‖h^d‖ e^c). The second part is an estimate: e is that of a coarser rule.
        """
        rho, size = np.abs(self._rho(c, d)), np.linalg.norm(self.coefficients[:, :, 1:], axis=-1)
        cut = rho ** (self.order + 1) * np.sqrt(np.outer(self.remainder[c], self.remainder[d]))
        wrong = np.outer(size[c], self.rule_error[d]) + np.outer(self.rule_error[c], size[d])
        return cut + rho * wrong

    truncation_error = error_estimate  # its name in version 0.1

    def joint(self) -> np.ndarray:
        """Covariance of all C processes stacked ``[C·N, C·N]``."""
        C = len(self.coefficients)
        stacked = np.concatenate(self.coefficients)  # [C·N, order + 1]
        overlap = np.ones((C, C)) if self.overlap is None else self.overlap
        return mehler(np.kron(overlap, self.correlation), stacked, stacked)

    @check_shapes("mixing: [C, L]")
    def mixed(self, mixing: np.ndarray) -> "HermiteSeries":
        """The series of classes that warp mixtures Σ_l A_cl f_l of independent latents like f0.

        Rows of A, the `mixing` ``[C, L]``, have length one, so every mixture is distributed like
        f0. The mixtures of two classes at x and x' have the correlation (A_c · A_d) ρ(x, x'), which
        takes the place of ρ.

        >>> from etgp_viz.core.flows import Linear
        >>> series = hermite_series(np.eye(1), Linear(), np.array([[[1.0, 0.0]], [[2.0, 0.0]]]))
        >>> mixing = np.array([[1.0, 0.0], [0.6, 0.8]])
        >>> series.pair(0, 1).round(6).tolist(), series.mixed(mixing).pair(0, 1).round(6).tolist()
        ([[2.0]], [[1.2]])
        """
        if not np.allclose(np.linalg.norm(mixing, axis=1), 1.0):
            fail("mixing", "rows of length one", f"lengths {np.linalg.norm(mixing, axis=1)}")
        return replace(self, overlap=mixing @ mixing.T)

    def up_to(self, order: int) -> "HermiteSeries":
        """The series truncated at a lower order; what is cut off joins the remainder."""
        check_count(order, "order", maximum=self.order)
        kept, cut = np.split(self.coefficients, [order + 1], axis=-1)
        left = self.remainder + np.sum(cut**2, axis=-1)
        return replace(self, coefficients=kept, remainder=left)

    def every(self, step: int) -> "HermiteSeries":
        """The series at every `step`-th input only."""
        check_count(step, "step")
        names = ("coefficients", "remainder", "rule_error")
        parts = {name: getattr(self, name)[:, ::step] for name in names}
        return replace(self, correlation=self.correlation[::step, ::step], **parts)


@check_shapes("K: [N, N]", "params: [C, N, P]", "mean: [N]", covariance="K")
def hermite_series(
    K: np.ndarray,
    flow: Flow,
    params: np.ndarray,
    *,
    mean: np.ndarray | None = None,
    order: int | None = None,
    tolerance: float = 1e-6,
) -> HermiteSeries:
    """The Hermite series of C warps of f0 ~ N(mean, K).

    Parameters
    ----------
    K, mean : covariance ``[N, N]`` and mean ``[N]`` of f0 at N inputs; None for mean zero
    flow, params : the family of maps G, and raw parameters of the C flows there ``[C, N, P]``
    order, tolerance : last term of the series; None for the lowest order whose `remainder` is
        below `tolerance` times the largest variance for every class and input, or MAX_ORDER

    Returns
    -------
    a `HermiteSeries`

    Examples
    --------
    >>> from etgp_viz.core.flows import Linear
    >>> K, params = np.array([[1.0, 0.5], [0.5, 1.0]]), np.tile([2.0, 0.0], (1, 2, 1))
    >>> hermite_series(K, Linear(), params).joint().round(6).tolist()
    [[4.0, 2.0], [2.0, 4.0]]
    """
    check_flow(flow)
    if not np.all(np.diag(K) > 0.0):
        raise ValueError("K: expected a positive variance at every input")
    C, N, P = params.shape
    mean = np.zeros(N) if mean is None else np.asarray(mean, dtype=float)
    deviation, correlation = standardised(np.asarray(K, dtype=float))
    rows = (np.tile(mean, C), np.tile(deviation, C), np.reshape(params, (C * N, P)))
    h, remainder, rule_error, _ = expand(flow, *rows, order, tolerance)
    parts = (h.reshape(C, N, -1), remainder.reshape(C, N), rule_error.reshape(C, N))
    return HermiteSeries(correlation, *parts)
