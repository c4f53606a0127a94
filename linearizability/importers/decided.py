"""What ok polls decide of operations whose end nobody knows.

An ok poll is given committed records only. So an unknown operation of which one polled a record has
committed (Jepsen's `must-have-committed?`), all of it. Its client was not told, so nobody needs to
have been given the rest by the end: the markers of a transaction come to each partition at a time
of its own. But the rest stood in the log before the commit was asked for; whoever was given
something behind it passed it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from linearizability.history import Type
from linearizability.importers.events import Operation
from linearizability.importers.micro import Place, Poll, Send

Parsed = tuple[Operation, Sequence[Send | Poll]]
BEFORE_ALL = -1


class Commit(NamedTuple):
    """By when at the latest a commit that was not answered had been asked for, and was done."""

    asked_ns: int
    done_ns: int


class Decided:
    """What the ok polls of a history tell.

    sent_ns: of each value, when the operation that sent it was invoked.
    """

    def __init__(self, parsed: Iterable[Parsed], sent_ns: Mapping[Place, Mapping[int, int]]):
        self._sent_ns = sent_ns
        self._shown: dict[Place, set[int]] = defaultdict(set)
        self._reach: dict[Place, int] = {}
        self._latest_ns: dict[Place, int] = {}
        unknown: dict[Place, set[int]] = defaultdict(set)
        ok_polls: list[tuple[int, Poll]] = []
        for operation, micro in parsed:
            is_ok = operation.type == Type.OK.value
            for one in micro:
                if isinstance(one, Poll):
                    if is_ok:
                        self._shown[one.place].update(one.values)
                        ok_polls.append((operation.last.time_ns, one))
                elif operation.type == Type.INFO.value:
                    unknown[one.place].add(one.value)
        self._shown_ns = self._first_shown(unknown, ok_polls)
        for _, one in ok_polls:
            if one.place in unknown:
                self._reach[one.place] = max(self._reach.get(one.place, 0), *one.offsets)

    def _first_shown(
        self, unknown: Mapping[Place, set[int]], ok_polls: Iterable[tuple[int, Poll]]
    ) -> dict[tuple[Place, int], int]:
        """When an ok poll that was given the value of an unknown operation had ended."""
        found: dict[tuple[Place, int], int] = {}
        for time_ns, one in ok_polls:
            wanted = unknown.get(one.place)
            if wanted and not wanted.isdisjoint(one.values):
                for value in wanted.intersection(one.values):
                    found.setdefault((one.place, value), time_ns)
        return found

    def commit(self, operation: Operation, micro: Iterable[Send | Poll]) -> Commit | None:
        """Of an unknown operation that has committed; None: it was answered, or nobody knows."""
        if operation.type != Type.INFO.value:
            return None
        sends = ((m.place, m.value) for m in micro if isinstance(m, Send))
        shown = [self._shown_ns[sent] for sent in sends if sent in self._shown_ns]
        if not shown:
            return None
        ended = [operation.completed.time_ns] if operation.completed else []
        return Commit(min(shown + ended), min(shown))

    def is_owed(self, sent: Send, commit: Commit) -> bool:
        """Whether an ok poll was given it, or a record that stands behind it: at a higher offset,
        or sent when this one's commit had been asked for."""
        if (sent.place, sent.value) in self._shown_ns:
            return True
        if sent.offset is not None and self._reach.get(sent.place, BEFORE_ALL) > sent.offset:
            return True
        return self._latest_shown_ns(sent.place) > commit.asked_ns

    def _latest_shown_ns(self, place: Place) -> int:
        """When the last of the values that ok polls were given of a key was sent."""
        if place not in self._latest_ns:
            sent_ns = self._sent_ns[place]
            self._latest_ns[place] = max(
                (sent_ns.get(value, BEFORE_ALL) for value in self._shown[place]),
                default=BEFORE_ALL,
            )
        return self._latest_ns[place]
