"""The paper's cost model, fitted: which part of a step's time is what.

    seconds ≈ overhead + β₁·(GP work, once) + β₂·(GP work of each class) + β₃·(flows and softmax)

with the operations of `etgp_viz.timing.contestants` and β ≥ 0 (seconds per operation), by non-negative
least squares on relative errors. Where a sweep varies C alone, terms that are proportional to one
another cannot be told apart, and count as one.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from etgp_viz.checks import check_choice
from etgp_viz.timing.contestants import MODELS, Size, operations

__all__ = ["CostFit", "fit_cost"]


@dataclass(frozen=True)
class CostFit:
    """A fitted cost model of one contestant.

    Attributes
    ----------
    model : its name
    terms : the names of the terms, in groups that the sweep cannot tell apart
    coefficients : seconds per operation of each group
    error : largest relative deviation of the fit from the measured times
    """

    model: str
    terms: tuple[tuple[str, ...], ...]
    coefficients: tuple[float, ...]
    error: float

    def parts(self, size: Size) -> dict[str, float]:
        """Seconds of each group at a size, named after its terms."""
        columns = _columns(self.model, size)
        return {
            " and ".join(group): beta * sum(columns[term] for term in group)
            for group, beta in zip(self.terms, self.coefficients, strict=True)
        }

    def seconds(self, size: Size) -> float:
        """Fitted time of a step."""
        return sum(self.parts(size).values())

    def fixed_share(self, size: Size) -> float:
        """The part of the time at this size that does not depend on C, between 0 and 1."""
        larger = Size(2 * size.classes, size.num_data, size.num_inducing, size.num_inputs)
        here, there = self.parts(size), self.parts(larger)
        fixed = sum(seconds for name, seconds in here.items() if there[name] == seconds)
        return fixed / self.seconds(size)


def fit_cost(table: pd.DataFrame, model: str, quantity: str = "step") -> CostFit | None:
    """Fit the cost model of a step to the sweep's times of one model; None below two sizes."""
    check_choice(model, "model", tuple(MODELS))
    rows = table[(table["model"] == model) & table[quantity].notna()]
    if len(rows) < 2:
        return None
    D = int(table.attrs["settings"]["num_inputs"])
    sizes = [Size(r.classes, r.num_data, r.num_inducing, D) for r in rows.itertuples()]
    columns = pd.DataFrame([_columns(model, size) for size in sizes])
    groups = _groups(columns)
    seconds = rows[quantity].to_numpy(float)
    design = np.stack([columns[list(group)].sum(axis=1).to_numpy(float) for group in groups], 1)
    scale = design.max(axis=0)
    solution, _ = nnls(design / scale / seconds[:, None], np.ones(len(seconds)))
    error = np.max(np.abs(design / scale @ solution / seconds - 1.0))
    return CostFit(model, groups, tuple(solution / scale), float(error))


def _columns(model: str, size: Size) -> dict[str, int]:
    """Operations by what they depend on; those that a model does not have are left out."""
    count, traits = operations(model, size), MODELS[model]
    kernel = count["kernel"] + count["factors"] + count["solves"]
    # The network's first layer is the same for any C.
    per_class = count["flows"] + count["softmax"]
    if traits.num_params:
        per_class += (
            count["network"]
            * size.classes
            * traits.num_params
            // (size.num_inputs + size.classes * traits.num_params)
        )
    columns = {
        "overhead": 1,
        "GP work, once": (0 if traits.kernel_per_class else kernel)
        + (0 if traits.process_per_class else count["moments"]),
        "GP work of each class": (kernel if traits.kernel_per_class else 0)
        + (count["moments"] if traits.process_per_class else 0),
        "flows, network and softmax" if traits.num_params else "softmax": per_class,
        "mixing": count["mixing"],
    }
    return {name: value for name, value in columns.items() if value}


def _groups(columns: pd.DataFrame) -> tuple[tuple[str, ...], ...]:
    """Names of columns, those proportional to one another together."""
    groups: list[list[str]] = []
    for name in columns:
        for group in groups:
            ratio = columns[name] / columns[group[0]]
            if np.allclose(ratio, ratio.iloc[0], rtol=1e-6):
                group.append(name)
                break
        else:
            groups.append([name])
    return tuple(map(tuple, groups))
