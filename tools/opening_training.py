"""Train the model with which `InferenceExplorer` opens, and keep it in `etgp_viz/reference`.

python tools/opening_training.py
"""

from pathlib import Path

from etgp_viz.explorers.inference_session import OPENING, InferenceSession
from etgp_viz.explorers.inference_state import InferenceState

STEPS = 60  # enough to see where the arms are, too few to follow them
TARGET = Path(__file__).parents[1] / "etgp_viz" / "reference" / f"training_{OPENING}.npz"


def main() -> None:
    """Train, and write the file."""
    training = InferenceSession(InferenceState()).training
    training.step(STEPS)
    training.save().write(TARGET)
    elbo = training.curve().elbo[-1]
    print(f"{TARGET.name}: {STEPS} steps, ELBO {elbo:.1f}, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
