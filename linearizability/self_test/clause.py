"""A clause of a checker's promise, with the mutators that break it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from linearizability.self_test.model.world import Row

Mutator = Callable[[list[Row], Random], list[Row] | None]
"""A function that returns a history's rows with an anomaly planted, or None if the history has no
place for it."""


class Clause(NamedTuple):
    """Mutators that break a clause, and the kinds of anomaly, at least one of which must then be
    found."""

    kinds: frozenset[str]
    mutators: tuple[Mutator, ...]


Clauses = Mapping[str, Clause]
"""A clause (when a history is invalid) -> the mutators that break it."""


def by(kinds: str, *mutators: Mutator) -> Clause:
    """Return a clause. kinds: the names of the kinds, separated by spaces."""
    return Clause(frozenset(kinds.split()), mutators)
