"""Deep-kernel SVGP: the trunk of an ETGP's network as a feature map in front of an SVGP.

    F_c(x) = g_c(h(x)),   g_c ~ GP(0, k),   y | x ~ softmax(F_1(x), …, F_C(x))

ETGP puts its network behind one Gaussian process, where it shapes the flows. Here the same hidden
layers h stand in front of C processes with one shared kernel, where they shape the inputs.
"""

from typing import Any

from etgp_viz.backend import Tensor, as_written, gpflow, tf
from etgp_viz.core.network import FlowNetwork
from etgp_viz.rivals.svgp import Data, SVGPClassifier

__all__ = ["DeepKernelSVGP"]


class DeepKernelSVGP(SVGPClassifier):
    """Sparse variational GP classifier on features h(x) of a network that is trained with it.

    It has the weight decay of an ETGP's network. Its dropout is 0 unless it is asked for: a kernel
    sees features with dropped units further apart than the same features in a prediction, where
    dropout is off, and on validation rows of digits the model does better without. With dropout, a
    training step has one draw of the network, as for an ETGP. (A prediction that averages over
    dropout draws would need the moments of all C processes anew for each of them.)

    Parameters
    ----------
    kernel : a multi-output kernel of H features
    network : whose `features` are h(x); its output layer is not used, and not trained
    inducing_variable : inducing points in the space of the features, ``[M, H]``
    **options : as for `SVGPClassifier`
    """

    def __init__(
        self,
        kernel: gpflow.kernels.MultioutputKernel,
        network: FlowNetwork,
        inducing_variable: gpflow.inducing_variables.InducingVariables,
        **options: Any,
    ) -> None:
        super().__init__(kernel, inducing_variable, network.num_classes, **options)
        self.network = network
        gpflow.set_trainable(network.output, False)

    _training_samples = 1

    @property
    def num_inputs(self) -> int:
        """D, the number of inputs of the network."""
        return self.network.num_inputs

    def _features(self, X: Tensor, samples: int | None = None) -> Tensor:
        features = self.network.features(X, samples)
        features = features if samples is None else features[0]
        return tf.cast(features, gpflow.default_float())

    @as_written
    def elbo(self, data: Data) -> Tensor:
        """Evidence lower bound, minus the weight decay of the network."""
        return super().elbo(data) - self.network.prior_penalty()
