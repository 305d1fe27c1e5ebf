"""Presets: settings that tell a story. A preset with steps is a guided tour."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from etgp_viz.explorers import fields


@dataclass(frozen=True)
class Step:
    """One step of a guided tour: words, a place to look at, and a move to wait for.

    Parameters
    ----------
    say : what to do, what to look at, or a question
    at : the place that is marked: the name of a control or a picture, or the label of a button;
        "control: kernel" and "picture: kernel" where a control and a picture share a name
    values : fields to set on arrival; all others stay as the reader has left them
    view : the label of the view to show; without it, one that has the picture `at`
    until : the move that ends the wait: a function of the state that becomes true, or the label
        of a button. Without it, the reader goes on at will.
    move : values that make `until` true, for a reader who asks to be shown
    then : words for after the move, or the answer to a question

    Examples
    --------
    >>> step = Step("Move the lengthscale to 0.5.", "lengthscale", move={"lengthscale": 0.5})
    >>> step.at, step.move
    ('lengthscale', {'lengthscale': 0.5})
    """

    say: str
    at: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    _: dataclasses.KW_ONLY
    view: str = ""
    until: Callable[[Any], bool] | str = ""
    move: Mapping[str, Any] = field(default_factory=dict)
    then: str = ""


@dataclass(frozen=True)
class Preset:
    """A setting that tells a story: what to look at, and the values that are not defaults.

    Parameters
    ----------
    story : what there is to see; of a tour, what it is about
    values : fields to set; all others return to their defaults
    view : the label of the view on which the story happens; without it, the view stays, but in
        *present* mode the first one is shown
    steps : the steps of a guided tour

    Examples
    --------
    A guided tour, and the chip that starts it:

    >>> from etgp_viz.explorers import FlowExplorer, Preset, Step
    >>> tour = Preset(
    ...     "What does a scale do to a Gaussian process?",
    ...     {"linear_b": (0.0,) * 5},
    ...     steps=(
    ...         Step("The grey line is f₀, the blue one is f = a·f₀ + b. Look at both.", "paths"),
    ...         Step("Which a makes them equal? Move it there.", "linear_a",
    ...              until=lambda state: state.linear_a == (1.0,) * 5,
    ...              move={"linear_a": (1.0,) * 5}, then="Times 1, plus 0: nothing happens."),
    ...         Step("What would a = 0 do? Decide, then go on.", then="f would be b everywhere."),
    ...     ),
    ... )
    >>> explorer = FlowExplorer()
    >>> explorer.add_preset("My tour", tour)
    """

    story: str
    values: Mapping[str, Any] = field(default_factory=dict)
    view: str = ""
    steps: tuple[Step, ...] = ()

    def walk(self, kind: type) -> Iterator[tuple[Any, Any]]:
        """The states on arrival at each step and after its move, if the reader does nothing else.

        Parameters
        ----------
        kind : the class of the states; a bad value raises a ValueError that names its step

        Examples
        --------
        >>> from etgp_viz.explorers import FlowExplorer
        >>> tour = Preset("A tour.", steps=(Step("Move ℓ to 0.5.", move={"lengthscale": 0.5}),))
        >>> ((arrival, after),) = tour.walk(FlowExplorer.State)
        >>> after.lengthscale
        0.5
        """
        after = kind(**fields.check_values(kind, self.values))
        for number, step in enumerate(self.steps, 1):
            try:
                arrival = dataclasses.replace(after, **fields.check_values(kind, step.values))
                after = dataclasses.replace(arrival, **fields.check_values(kind, step.move))
            except ValueError as error:
                raise ValueError(f"step {number}: {error}") from None
            yield arrival, after


def tours_of(presets: Mapping[str, Preset]) -> list[str]:
    """The names of those presets that have steps."""
    return [name for name, preset in presets.items() if preset.steps]
