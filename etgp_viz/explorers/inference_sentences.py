"""What the InferenceExplorer says: sentences about f₀, the far field and failed trainings."""

from etgp_viz.core.optimiser import TrainingError
from etgp_viz.records.inference import Beliefs, Contribution

__all__ = ["count_steps", "explain", "far_away", "worth_of_latent"]

# Nats per row: below the first f₀ hardly counts, from the second on it matters.
LITTLE, MUCH = 0.02, 0.05


def worth_of_latent(record: Contribution) -> str:
    """Sentences about what the model would lose without f₀, and without its uncertainty."""
    lost, at_mean = record.lost_at_zero, record.lost_at_mean
    start = "Without f₀ (set to 0) the model would"
    if lost < LITTLE:
        change = "lose hardly anything" if lost > -LITTLE else f"gain {-lost:.2f} nats per row"
        return f"{start} {change} on these points: the network does the work."
    kept = (
        "With f₀ at its mean it would lose hardly anything: its uncertainty adds little."
        if abs(at_mean) < LITTLE
        else f"With f₀ at its mean it would lose {at_mean:.2f}."
    )
    matters = "the GP matters" if lost >= MUCH else "the GP matters a little"
    return f"{start} lose {lost:.2f} nats per row on these points: {matters}. {kept}"


def far_away(beliefs: Beliefs) -> str:
    """A sentence about the edge of a window that reaches far beyond the data."""
    C = len(beliefs.point.probabilities)
    return (
        f" At the edge, far from the data, the sd of q(f₀) is {beliefs.latent.return_to_prior:.0%} "
        "of its prior's, yet the likeliest class still has probability "
        f"{beliefs.point.confidence_at_edge:.2f} by PE and {beliefs.bayes.confidence_at_edge:.2f} "
        f"by BA (1/C is {1 / C:.2f}): the flows extrapolate."
    )


def count_steps(steps: int) -> str:
    """A number of steps in words.

    >>> count_steps(1), count_steps(20)
    ('1 step', '20 steps')
    """
    return "1 step" if steps == 1 else f"{steps} steps"


def explain(error: Exception, steps: int) -> str:
    """One sentence about what went wrong during training, and what to do about it."""
    if isinstance(error, TrainingError):
        return (
            f"Training diverged after {count_steps(steps)} because of {error.parameter}: choose a "
            "smaller learning rate and start over."
        )
    first, *_ = (str(error) or type(error).__name__).splitlines()
    return f"Training ended after {count_steps(steps)}: {first}"
