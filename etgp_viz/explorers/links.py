"""The state of an explorer as a short text to send to somebody: JSON, checked, nothing executed."""

import dataclasses
import json
from typing import Any

from etgp_viz.explorers import fields

MAX_LENGTH = 4000


def write(kind: str, state: Any) -> str:
    """What differs from the start of the explorer named `kind`, as JSON on one line."""
    start = type(state)()
    changes = {
        field.name: getattr(state, field.name)
        for field in dataclasses.fields(state)
        if getattr(state, field.name) != getattr(start, field.name)
    }
    return json.dumps({"explorer": kind, **changes}, separators=(",", ":"))


def read(kind: str, state: type, text: str) -> dict[str, Any]:
    """All values of a state from a link, each checked; a ValueError says what is wrong with it."""
    if not isinstance(text, str):
        raise ValueError(f"link: expected text, got {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"link: expected at most {MAX_LENGTH} characters, got {len(text)}")
    try:
        found = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"link: not one of ours ({error})") from None
    if not isinstance(found, dict) or found.get("explorer") != kind:
        raise ValueError(f'link: expected one that begins with {{"explorer":"{kind}"')
    del found["explorer"]
    try:
        good = fields.checked(state, found)
    except ValueError as error:
        raise ValueError(f"link: {error}") from None
    return {**dataclasses.asdict(state()), **good}


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError("a name stands in it twice")
    return dict(pairs)
