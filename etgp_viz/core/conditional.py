"""q(f) at new inputs, from a Gaussian q(u) at the inducing points."""

from etgp_viz.backend import check_shapes, tf

__all__ = ["batched_conditional", "standard_deviation"]

# Rounding can leave a variance a little below zero; its square root must have a finite gradient.
SMALLEST_VARIANCE = 1e-12


def standard_deviation(variance: tf.Tensor) -> tf.Tensor:
    """√variance, of at least `SMALLEST_VARIANCE`."""
    return tf.sqrt(tf.maximum(variance, SMALLEST_VARIANCE))


@tf.custom_gradient
def _quadratic_forms(B: tf.Tensor, K: tf.Tensor) -> tuple[tf.Tensor, object]:
    """k_nᵀ B_c k_n for symmetric B ``[C, M, M]`` and the columns of K ``[C | 1, M, N]``.

    Since B is symmetric, the derivative 2 B k by k is known from the forward pass. Automatic
    differentiation would spend another ``[C, M, N]`` product on it.
    """
    BK = tf.matmul(B, K)

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        weights = upstream[:, None, :]
        d_K = 2.0 * weights * BK
        if K.shape[0] == 1:
            d_K = tf.reduce_sum(d_K, axis=0, keepdims=True)
        return tf.matmul(K * weights, K, transpose_b=True), d_K

    return tf.reduce_sum(K * BK, axis=1), gradient


@check_shapes(
    "Kmm: [broadcast C, M, M]",
    "Kmn: [broadcast C, M, N]",
    "Knn: [broadcast C, N] if not full_cov",
    "Knn: [broadcast C, N, N] if full_cov",
    "q_mu: [M, C]",
    "q_sqrt: [C, M, M]",
    "return[0]: [N, C]",
    "return[1]: [N, C] if not full_cov",
    "return[1]: [C, N, N] if full_cov",
)
def batched_conditional(
    Kmm: tf.Tensor,
    Kmn: tf.Tensor,
    Knn: tf.Tensor,
    q_mu: tf.Tensor,
    q_sqrt: tf.Tensor,
    *,
    white: bool,
    full_cov: bool = False,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Moments of the C marginals q(f_c), all at once.

    With L Lᵀ = Kmm, A = L⁻¹ Kmn and q(v) = N(m, R Rᵀ) on the whitened v = L⁻¹ u,

        mean = Aᵀ m,    cov = Knn − Aᵀ (I − R Rᵀ) A.

    L⁻¹ is formed explicitly: a product with it is faster than a triangular solve, and as accurate.
    (Kmm⁻¹ would not be: its condition number is the square of L's.)
    """
    L_inv = tf.linalg.triangular_solve(
        tf.linalg.cholesky(Kmm), tf.eye(tf.shape(Kmm)[-1], dtype=Kmm.dtype)[None]
    )
    m, R = tf.transpose(q_mu)[:, None, :], tf.linalg.band_part(q_sqrt, -1, 0)  # [C, 1, M]
    if not white:
        m, R = tf.matmul(m, L_inv, transpose_b=True), tf.matmul(L_inv, R)
    A = tf.matmul(L_inv, Kmn)
    shrink = tf.eye(tf.shape(Kmm)[-1], dtype=Kmm.dtype) - tf.matmul(R, R, transpose_b=True)

    mean = tf.transpose(tf.matmul(m, A)[:, 0, :])
    if full_cov:
        return mean, Knn - tf.matmul(A, tf.matmul(shrink, A), transpose_a=True)
    return mean, tf.transpose(Knn - _quadratic_forms(shrink, A))
