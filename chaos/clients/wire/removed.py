"""Keep the names of the topics, groups and users that were removed from somebody else's cluster,
and of those that could not be removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

SHOWN_MAX = 3
"""The most names that a message lists of things that could not be removed for the same reason."""


@dataclass
class Removed:
    """The names that were removed from a cluster, and why others could not be removed."""

    names: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """A text `NAME: REASON` for each thing that could not be removed."""

    def left(self) -> list[str]:
        """Return a line for each reason of a failure, with the names that could not be removed for
        it: the first SHOWN_MAX, and how many more."""
        by_reason: dict[str, list[str]] = {}
        for failure in self.failures:
            name, _, reason = failure.partition(": ")
            by_reason.setdefault(reason, []).append(name)
        return [
            ", ".join(names[:SHOWN_MAX])
            + (f" and {len(names) - SHOWN_MAX} more" if len(names) > SHOWN_MAX else "")
            + f": {reason}"
            for reason, names in by_reason.items()
        ]


def told(removed: Removed) -> Sequence[str]:
    """Return sentences for the user: one that names all things removed, if there are any, and one
    for each reason why some could not be removed."""
    lines = []
    if removed.names:
        lines.append(
            f"removed from the cluster what an earlier run had left: {', '.join(removed.names)}"
        )
    return [
        *lines,
        *(f"could not remove what a run has created: {each}" for each in removed.left()),
    ]
