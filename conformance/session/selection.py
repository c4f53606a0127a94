"""Choose the cases of an examination by id, area and priority."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import pytest

from conformance.case import Case

PRIORITIES = ("P0", "P1", "P2")


@dataclass(frozen=True)
class Selection:
    """The limits of an examination; empty sets limit nothing."""

    ids: frozenset[str]
    areas: frozenset[str]
    priority: str

    @classmethod
    def of(cls, config: pytest.Config) -> Selection:
        """Return what the command line asks for. Raise UsageError for an unknown priority."""
        priority = config.getoption("--priority")
        if priority not in PRIORITIES:
            raise pytest.UsageError("conformance: --priority takes P0, P1 or P2")
        return cls(
            frozenset(word.upper() for word in config.getoption("--case")),
            frozenset(word.upper() for word in config.getoption("--area")),
            priority,
        )

    def takes(self, stated: Case) -> bool:
        """Return whether the examination runs this case."""
        return (
            (not self.ids or stated.id in self.ids)
            and (not self.areas or stated.area in self.areas)
            and PRIORITIES.index(stated.priority) <= PRIORITIES.index(self.priority)
        )

    def check(self, known: Iterable[Case]) -> None:
        """Raise UsageError that names the first id or area of which there is no case."""
        cases = list(known)
        _check("case", self.ids, sorted({stated.id for stated in cases}))
        _check("area", self.areas, sorted({stated.area for stated in cases}))


def add_options(group: pytest.OptionGroup) -> None:
    """Add the options that select cases to pytest's command line."""
    repeatable = {"action": "append", "default": []}
    group.addoption("--case", metavar="ID", help="run only this case; repeatable", **repeatable)
    group.addoption("--area", metavar="AREA", help="run only this area; repeatable", **repeatable)
    group.addoption("--priority", default="P2", help="run cases up to this priority: P0, P1 or P2")


def _check(what: str, wanted: Iterable[str], known: Sequence[str]) -> None:
    for word in sorted(set(wanted) - set(known)):
        near = get_close_matches(word, known, 3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise pytest.UsageError(
            f"conformance: no {what} is called {word}; `touchstone conform list` shows them.{hint}"
        )
