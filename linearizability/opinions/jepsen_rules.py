"""The rules by which Jepsen decides whether an anomaly is an error or is allowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from linearizability.history import Type


@dataclass(frozen=True)
class Facts:
    """The facts about the history that the rules need.

    polls: op_id -> (process, type) of the polls that anomalies name. seeks: the operations that set
    positions. subscribes: some consumer subscribed, so that partitions move between operations.
    """

    polls: Mapping[int, tuple[int, str]]
    subscribes: bool
    seeks: frozenset[int] = frozenset()

    def spans_operations(self, operations: Collection[int]) -> bool:
        """Return whether the anomaly's operations include several polls of one process."""
        by_process = Counter(self.polls[op][0] for op in operations if op in self.polls)
        return any(polls > 1 for polls in by_process.values())

    def is_seen_by_ok_poll(self, operations: Collection[int]) -> bool:
        return any(self.polls[op][1] == Type.OK.value for op in operations if op in self.polls)


Rule = Callable[[Collection[int], Facts], bool]
"""A function that returns whether an anomaly, proven by these operations, is an error by Jepsen's
rules."""


def always(_operations: Collection[int], _facts: Facts) -> bool:
    return True


def never(_operations: Collection[int], _facts: Facts) -> bool:
    return False


def unless_rebalanced(operations: Collection[int], facts: Facts) -> bool:
    return not (facts.subscribes and facts.spans_operations(operations))


def between_polls(operations: Collection[int], facts: Facts) -> bool:
    """Return whether the anomaly is an error for Jepsen, which compares polls only with each other,
    not with the position that a seek set, and allows what a rebalance between operations may
    explain."""
    return facts.seeks.isdisjoint(operations) and unless_rebalanced(operations, facts)


def to_an_ok_reader(operations: Collection[int], facts: Facts) -> bool:
    return facts.is_seen_by_ok_poll(operations)
