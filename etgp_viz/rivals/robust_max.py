"""An SVGP that needs no Monte Carlo: the robust-max likelihood of C processes.

    p(y | F) = 1 − ε if F_y is the largest of all, and ε/(C − 1) otherwise

The probability that F_y is the largest is a 1-d integral over F_y, for any C,

    P = ∫ N(f; µ_y, σ_y²) Π_{c ≠ y} Φ((f − µ_c)/σ_c) df,

which GPflow's ``MultiClass`` computes by Gauss–Hermite quadrature with 20 nodes.
"""

from typing import Any

from etgp_viz.backend import Tensor, as_written, gpflow, tf
from etgp_viz.checks import check_inputs
from etgp_viz.core.blocks import fitting
from etgp_viz.rivals.svgp import Data, SVGPClassifier, in_blocks

__all__ = ["RobustMaxSVGP"]


class RobustMaxSVGP(SVGPClassifier):
    """Sparse variational GP classifier with C independent processes and a robust-max likelihood.

    A training step needs the integral of one class per row, N C Q normal distribution functions. A
    prediction needs those of all C classes, N C² Q. By quadrature they add up to nearly one, so
    they are divided by their sum.

    Parameters are those of `SVGPClassifier` without the numbers of draws; ``likelihood`` is
    GPflow's ``MultiClass``, with ε = 0.001.
    """

    def __init__(
        self,
        kernel: gpflow.kernels.MultioutputKernel,
        inducing_variable: gpflow.inducing_variables.InducingVariables,
        num_classes: int,
        **options: Any,
    ) -> None:
        super().__init__(kernel, inducing_variable, num_classes, **options)
        self.likelihood = gpflow.likelihoods.MultiClass(num_classes)

    def expected_log_likelihood(self, data: Data, noise: Tensor | None = None) -> Tensor:
        """E_q[ log p(y_n | F_n) ] = P log(1 − ε) + (1 − P) log(ε/(C − 1)) of each row, ``[N]``."""
        X, Y = data
        return self.likelihood.variational_expectations(X, *self.predict_latent(X), Y)

    def prediction_error(self, X: Tensor) -> Tensor:
        """Zeros ``[N, C]``: no draws, no Monte Carlo error."""
        return tf.zeros([tf.shape(X)[0], self.num_classes], gpflow.default_float())

    @as_written
    def _log_probabilities(self, X: Tensor, samples: int | None, seed: int) -> Tensor:
        """Log probabilities of all classes ``[N, C]``, in blocks of rows to limit memory use."""
        X = tf.convert_to_tensor(check_inputs(X, num_inputs=self.num_inputs))
        self._params(X, samples)  # refuses dropout samples
        C, M = self.num_classes, self.inducing_variable.shape[0]
        Q = self.likelihood.num_gauss_hermite_points

        def at_moments(mean: Tensor, variance: Tensor) -> Tensor:
            # Each row C times, once with each label.
            labels = tf.tile(tf.range(C)[:, None], [tf.shape(mean)[0], 1])
            moments = tf.repeat(mean, C, axis=0), tf.repeat(variance, C, axis=0)
            log_p = self.likelihood.predict_log_density(moments[0], *moments, labels)
            return tf.nn.log_softmax(tf.reshape(log_p, [-1, C]))  # divides p by its sum

        def at_inputs(X: Tensor) -> Tensor:
            return in_blocks(at_moments, fitting(C * C * Q), *self.predict_latent(X))

        return in_blocks(at_inputs, fitting(C * M), X)
