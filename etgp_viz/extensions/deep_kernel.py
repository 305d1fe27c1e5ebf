"""Deep-kernel ETGP: f0 lives on features h(x) of a network that is trained with it.

    f0(x) = g(h(x)),   g ~ GP(0, k),    f^c(x) = G(f0(x); θ^c(x))

In other words, an ETGP whose kernel is k(h(x), h(x')). The trunk h is that of the network which
makes the flows' parameters, or a network of its own. Dropout is off in h: a kernel sees features
with dropped units further apart than the same features without. So f0 is evaluated once for
all dropout draws, as in a plain ETGP.
"""

from collections.abc import Callable
from typing import Any

from etgp_viz import checks
from etgp_viz.backend import Tensor, gpflow, tf
from etgp_viz.core.model import ETGP, Data
from etgp_viz.core.network import FlowNetwork

__all__ = ["DeepKernelETGP", "FeatureKernel"]


class FeatureKernel(gpflow.kernels.Kernel):
    """k(h(x), h(x')): a GPflow kernel of features.

    Parameters
    ----------
    base : k, a kernel of H features
    features : h, a function from inputs ``[N, D]`` to features ``[N, H]``; parameters that it uses
        belong to whoever trains the kernel

    Examples
    --------
    >>> kernel = FeatureKernel(gpflow.kernels.Linear(), tf.square)
    >>> X = tf.constant([[1.0], [2.0]], tf.float64)
    >>> kernel(X).numpy()  # x² x'²
    array([[ 1.,  4.],
           [ 4., 16.]])
    """

    def __init__(self, base: gpflow.kernels.Kernel, features: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.base = base
        self._features = features

    def K(self, X: Tensor, X2: Tensor | None = None) -> Tensor:  # noqa: N802
        """k(h(X), h(X2)) ``[N, N2]``; X2 is X unless given."""
        return self.base(self._at(X), None if X2 is None else self._at(X2))

    def K_diag(self, X: Tensor) -> Tensor:  # noqa: N802
        """k(h(x), h(x)) at each input ``[N]``."""
        return self.base(self._at(X), full_cov=False)

    def _at(self, X: Tensor) -> Tensor:
        return tf.cast(self._features(X), gpflow.default_float())


class DeepKernelETGP(ETGP):
    """ETGP whose f0 lives on a learned feature map.

    Inducing points stay in the space of the inputs, ``[M, D]``: the kernel sees h(z).

    Parameters
    ----------
    kernel : of the H features
    network : from x to the parameters of the flows
    inducing_variable : M inducing points ``[M, D]``
    trunk : a `FlowNetwork` of its own whose hidden layers are h(x), with its weight decay; its
        output layer is not used. None for the hidden layers of `network`.
    **options : as for `ETGP`

    Examples
    --------
    >>> import numpy as np
    >>> from etgp_viz import flows
    >>> X = np.linspace(-1.0, 1.0, 6)[:, None]
    >>> network = FlowNetwork(num_inputs=1, num_classes=3, flow=flows.Linear(), hidden=(4,))
    >>> model = DeepKernelETGP(gpflow.kernels.SquaredExponential(), network, X[::2])
    >>> model.predict_latent(X)[0].shape
    TensorShape([6, 1])
    """

    def __init__(
        self,
        kernel: gpflow.kernels.Kernel,
        network: FlowNetwork,
        inducing_variable: Any,
        *,
        trunk: FlowNetwork | None = None,
        **options: Any,
    ) -> None:
        source = network if trunk is None else trunk
        if not isinstance(source, FlowNetwork):
            name = "network" if trunk is None else "trunk"
            checks.fail(name, "a FlowNetwork", type(source).__name__)
        super().__init__(
            FeatureKernel(kernel, source.features), network, inducing_variable, **options
        )
        self.trunk = trunk
        if trunk is not None:
            gpflow.set_trainable(trunk.output, False)

    def elbo(self, data: Data, samples: int | None = 1, weights: Tensor | None = None) -> Tensor:
        """Evidence lower bound, minus the weight decay of a trunk of its own; see `ETGP.elbo`."""
        value = super().elbo(data, samples, weights)
        return value if self.trunk is None else value - self.trunk.prior_penalty()
