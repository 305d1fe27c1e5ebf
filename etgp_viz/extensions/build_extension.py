"""The extended ETGPs of `etgp_viz.build`: what its options mean, and how their models start."""

from collections.abc import Callable
from typing import Any

import numpy as np

from etgp_viz.backend import gpflow
from etgp_viz.checks import fail
from etgp_viz.core.flows import Flow
from etgp_viz.core.model import ETGP
from etgp_viz.core.network import FlowNetwork
from etgp_viz.extensions.deep_kernel import DeepKernelETGP
from etgp_viz.extensions.mixed_flow import ConstantMixing, MixedFlow
from etgp_viz.extensions.options import Options
from etgp_viz.extensions.several_latents import MixedETGP

__all__ = ["Extension"]


class Extension(Options):
    """An extension of ETGP: its flow, its network and its model."""

    def flow(self, flow: Flow) -> Flow:
        """The flow of the extended model, from that of a plain one."""
        return flow if self.latents == 1 else MixedFlow(flow, self.latents, self.mixing)

    def network(self, kind: type[FlowNetwork]) -> type[FlowNetwork]:
        """The class of the extended model's network, from that of a plain one."""
        is_constant = self.latents > 1 and self.mixing_from == "constant"
        if kind is FlowNetwork:
            return ConstantMixing if is_constant else kind
        if is_constant:
            fail("mixing_from", f"'network' beside a {kind.__name__}", "'constant'")
        if self.features is not None:
            fail("features", f"None beside a {kind.__name__}", repr(self.features))
        return kind

    def model(
        self,
        kernel: Callable[[int, float], gpflow.kernels.Kernel],
        length: float,
        network: Callable[..., FlowNetwork],
        Z: np.ndarray,
        X: np.ndarray,
        settings: dict[str, Any],
        seed: int,
        is_drawn: bool,
    ) -> ETGP:
        """The model, with its initial values except those of q.

        Parameters
        ----------
        kernel, length : from a number of inputs and a lengthscale to a kernel; the lengthscale
        network : makes a network, with changed arguments
        Z, X, settings, seed : inducing points, inputs, further arguments of the model, and a seed
        is_drawn : whether means of q will be drawn, so that latents differ; if they will not be,
            the mixing is random instead, with the variance 1/L

        Returns
        -------
        an `ETGP`, or one derived from it
        """
        D, first = X.shape[1], network()
        if self.latents > 1:
            kernels = [kernel(D, length) for _ in range(self.latents)]
            # Always the same Sobol points, so that a model from a file predicts what it did.
            model = MixedETGP(kernels, first, Z, **settings)
            if not is_drawn:
                _randomise_mixing(first, seed)
            return model
        if self.features is None:
            return ETGP(kernel(D, length), first, Z, **settings)
        trunk = None if self.features == "shared" else network(dropout=0.0, seed=(seed + 1) % 2**31)
        features = np.asarray((first if trunk is None else trunk).features(X), dtype=float)
        # The more features, the further apart: the root mean square of their distances.
        length = float(np.sqrt(2.0 * features.var(axis=0).sum()))
        return DeepKernelETGP(kernel(features.shape[1], length), first, Z, trunk=trunk, **settings)


def _randomise_mixing(network: FlowNetwork, seed: int) -> None:
    """Start with a random mixing matrix, whose rows have an expected square of one."""
    C, flow = network.num_classes, network.flow
    L = flow.latents if isinstance(flow, MixedFlow) else 1
    mixing = np.random.default_rng([seed, 2]).normal(size=(C, L)) / np.sqrt(L)
    if isinstance(network, ConstantMixing):
        network.mixing.assign(mixing)
    else:  # the first L·C outputs, ordered by parameter and then by class
        rest = network.output.bias.numpy()[L * C :]
        network.output.bias.assign(np.concatenate([mixing.T.ravel(), rest]))
