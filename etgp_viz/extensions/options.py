"""Options of `etgp_viz.build` that extend an ETGP, and what is allowed; it loads no TensorFlow."""

from dataclasses import dataclass, fields

from etgp_viz.checks import check_choice, check_count, fail

__all__ = ["EXTENSION_OPTIONS", "MAX_LATENTS", "MIXINGS", "Options"]

MAX_LATENTS = 100
MIXINGS = ("before", "after")
MIXING_SOURCES = ("constant", "network")
FEATURES = (None, "shared", "own")


@dataclass(frozen=True)
class Options:
    """The options, once they have been checked; the defaults are a plain ETGP."""

    latents: int = 1
    mixing: str = "before"
    mixing_from: str = "constant"
    features: str | None = None

    def __post_init__(self) -> None:
        check_count(self.latents, "latents", maximum=MAX_LATENTS)
        check_choice(self.mixing, "mixing", MIXINGS)
        check_choice(self.mixing_from, "mixing_from", MIXING_SOURCES)
        check_choice(self.features, "features", FEATURES)
        if self.latents == 1:
            for name in ("mixing", "mixing_from"):
                if getattr(self, name) != getattr(Options, name):
                    fail(name, "at least two latents to mix", f"{name} with latents=1")
        elif self.features is not None:
            fail("features", "None for several latents", repr(self.features))


EXTENSION_OPTIONS = tuple(field.name for field in fields(Options))
