"""A contestant outside TensorFlow: GPyTorch's batched SVGP, where GPyTorch is installed."""

from collections.abc import Callable
from typing import Any

import gpytorch
import numpy as np
import torch

from etgp_viz.rivals.names import PREDICTIVE_DRAWS
from etgp_viz.timing.contestants import DRAWS, Size, random_data

__all__ = ["actions"]


class BatchedSVGP(gpytorch.models.ApproximateGP):
    """C processes with their own RBF kernels and inducing points, as one batch."""

    def __init__(self, Z: torch.Tensor) -> None:
        C, M, D = Z.shape
        batch = torch.Size([C])
        q = gpytorch.variational.CholeskyVariationalDistribution(M, batch_shape=batch)
        strategy = gpytorch.variational.IndependentMultitaskVariationalStrategy(
            gpytorch.variational.VariationalStrategy(self, Z, q), num_tasks=C
        )
        super().__init__(strategy)
        self.mean = gpytorch.means.ZeroMean(batch_shape=batch)
        rbf = gpytorch.kernels.RBFKernel(ard_num_dims=D, batch_shape=batch)
        self.kernel = gpytorch.kernels.ScaleKernel(rbf, batch_shape=batch)

    def forward(self, x: torch.Tensor) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


def actions(
    name: str, size: Size, predictive_draws: int = PREDICTIVE_DRAWS
) -> dict[str, Callable[[], Any]]:
    """The calls to time, as in `etgp_viz.timing.contestant_models.actions`.

    The step is PyTorch's usual one: unlike that of `etgp_viz.fit`, it checks nothing.
    """
    X, Y = random_data(size)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    C = size.classes
    inputs, labels = torch.tensor(X), torch.tensor(Y[:, 0])
    model = BatchedSVGP(inputs[: size.num_inducing].repeat(C, 1, 1))
    likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=C, mixing_weights=False)
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(X))
    adam = torch.optim.Adam(model.parameters(), lr=1e-4)
    draws = gpytorch.settings.num_likelihood_samples

    def step() -> float:
        model.train()
        with draws(DRAWS):
            adam.zero_grad()
            loss = -objective(model(inputs), labels)
            loss.backward()
            adam.step()
        return loss.item()

    def sampled() -> torch.Tensor:
        model.eval()
        with torch.no_grad(), draws(predictive_draws):
            return likelihood(model(inputs)).probs

    def predict() -> np.ndarray:
        return sampled().mean(0).numpy()

    def error() -> float:
        return float(sampled().std(0).max()) / np.sqrt(predictive_draws)

    return {"step": step, "prediction": predict, "prediction_error": error}
