"""Maps from several latents to one process: mixed first and then warped, or the other way round.

    before:  f^c = G(Σ_l A_cl f_l; θ^c(x))            P parameters θ for each class
    after:   f^c = Σ_l A_cl G(f_l; θ^cl(x))           L·P: each class warps each latent by itself

The row A_c of the mixing matrix stands in front of the flow's own parameters, so that a network
with these parameters makes the mixing depend on x. `ConstantMixing` is a network whose mixing does
not: one matrix A [C, L] that is trained like any other parameter.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from etgp_viz import checks
from etgp_viz.backend import Tensor, gpflow, tf
from etgp_viz.core.flows import Flow, Param, TensorLike, Values
from etgp_viz.core.network import Dense, FlowNetwork
from etgp_viz.extensions.options import MAX_LATENTS, MIXINGS

__all__ = ["ConstantMixing", "MixedFlow"]


class MixedFlow(Flow):
    """A flow of L latents, with their mixing coefficients A_1 … A_L as its first parameters.

    Latents are the last axis of f in `forward`. It has no inverse, since L values become one. At
    its identity parameters it is Σ_l f_l / √L, which has the variance of one latent.

    Parameters
    ----------
    flow : the family G of warps, one of `etgp_viz.core.flows`
    latents : L
    mixing : whether latents are mixed ``"before"`` or ``"after"`` they are warped

    Examples
    --------
    >>> from etgp_viz import flows
    >>> flow = MixedFlow(flows.Linear(), latents=2)
    >>> flow.param_names
    ('A1', 'A2', 'a', 'b')
    >>> float(flow.forward([3.0, 4.0], [1.0, -1.0, 2.0, 0.5]))  # 2·(3 − 4) + 0.5
    -1.5
    """

    def __init__(self, flow: Flow, latents: int, mixing: str = "before") -> None:
        checks.check_flow(flow)
        self.flow = flow
        self.latents = checks.check_count(latents, "latents", maximum=MAX_LATENTS)
        self.mixing = checks.check_choice(mixing, "mixing", MIXINGS)

    @property
    def params(self) -> tuple[Param, ...]:
        """A1 … AL, then those of the flow; mixed afterwards, once for each latent (``2.a``)."""
        share = 1.0 / np.sqrt(self.latents)
        mixing = (
            Param(f"A{number}", -3.0, 3.0, False, share, f"adds more of latent {number}")
            for number in range(1, self.latents + 1)
        )
        if self.mixing == "before":
            return (*mixing, *self.flow.params)
        warps = (
            replace(param, name=f"{number}.{param.name}")
            for number in range(1, self.latents + 1)
            for param in self.flow.params
        )
        return (*mixing, *warps)

    def identity_params(self) -> np.ndarray:
        repeats = 1 if self.mixing == "before" else self.latents
        mixing = np.full(self.latents, 1.0 / np.sqrt(self.latents))
        return np.concatenate([mixing, np.tile(self.flow.identity_params(), repeats)])

    def forward(self, f: TensorLike, params: TensorLike) -> Tensor:
        """The process ``[...]`` of latents ``f[..., L]``, from raw ``params[..., P]``."""
        f = tf.convert_to_tensor(f, dtype=gpflow.default_float())
        if f.shape[-1] != self.latents:
            checks.fail("f", f"{self.latents} latents in the last axis", f"shape {f.shape}")
        return self._forward(tf.unstack(f, axis=-1), self.unstack(params))

    def _forward(self, f: Sequence[Tensor], values: Values) -> Tensor:
        """One process from L latents; mixing coefficients come first among the values."""
        L, P = self.latents, self.flow.num_params
        mixing, rest = values[:L], values[L:]
        if self.mixing == "before":
            mixed = sum(a * latent for a, latent in zip(mixing, f, strict=True))
            return self.flow._forward(mixed, rest)
        warps = [rest[start : start + P] for start in range(0, L * P, P)]
        terms = zip(mixing, f, warps, strict=True)
        return sum(a * self.flow._forward(latent, warp) for a, latent, warp in terms)

    def _inverse(self, g: Tensor, values: Values) -> NoReturn:
        raise NotImplementedError(f"{self.latents} latents cannot be found from one process")

    def _log_derivative(self, f: Any, values: Values) -> NoReturn:
        raise NotImplementedError(f"a map from {self.latents} latents to one has no density")


class ConstantMixing(FlowNetwork):
    """A `FlowNetwork` of `MixedFlow` parameters whose mixing matrix does not depend on x.

    Arguments are those of `FlowNetwork`; `mixing`, A ``[C, L]``, is a trainable parameter, and
    starts with 1/√L everywhere. The output layer has only the parameters of the warps.

    Examples
    --------
    >>> from etgp_viz import flows
    >>> network = ConstantMixing(1, 3, MixedFlow(flows.Linear(), latents=2))
    >>> network.mixing.shape, network(np.zeros((5, 1))).shape
    (TensorShape([3, 2]), TensorShape([5, 3, 4]))
    """

    flow: MixedFlow

    def __init__(self, num_inputs: int, num_classes: int, flow: MixedFlow, **options: Any) -> None:
        if not isinstance(flow, MixedFlow):
            checks.fail("flow", "a MixedFlow", repr(flow))
        super().__init__(num_inputs, num_classes, flow, **options)
        weights, bias = self.output.weights.numpy(), self.output.bias.numpy()
        first = flow.latents * self.num_classes  # columns are ordered by parameter, then by class
        self.mixing = gpflow.Parameter(bias[:first].reshape(flow.latents, self.num_classes).T)
        self.output = Dense(weights[:, first:], bias[first:])

    def params_of(self, features: Tensor) -> Tensor:
        """Raw flow parameters from the last shared layer, those of the mixing in front."""
        warps = super().params_of(features)
        mixing = tf.convert_to_tensor(self.mixing)
        shape = tf.concat([tf.shape(warps)[:-1], [self.flow.latents]], axis=0)
        return tf.concat([tf.broadcast_to(mixing, shape), warps], axis=-1)
