"""The events of a Jepsen history, read and paired: what was invoked, and how it ended.

One event: index, time (ns), process, type (invoke, ok, fail, info), f, value; other keys are
ignored. Each client's invocation is followed by its completion, or by none: then nobody knows.
Whatever would make a verdict meaningless is refused, with its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from linearizability.history import HistoryError

TYPES = ("invoke", "ok", "fail", "info")
WITH_MICRO_OPERATIONS = ("send", "poll", "txn")
WITH_KEYS = ("assign", "subscribe")
INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


class Event(NamedTuple):
    """One line of the history."""

    source: str
    line: int
    number: int
    """Its index."""
    time_ns: int
    process: int | None
    """None: not a client (the nemesis)."""
    type: str
    f: str
    value: Any
    raw: dict[str, Any]

    def refuse(self, why: str) -> HistoryError:
        return HistoryError(f"{self.source}: line {self.line}: {why}")


class Operation(NamedTuple):
    """An invocation with its completion, if it has one."""

    invoked: Event
    completed: Event | None

    @property
    def last(self) -> Event:
        """The completion; or the invocation that nobody answered."""
        return self.completed or self.invoked

    @property
    def type(self) -> str:
        return self.completed.type if self.completed else "info"


def read_events(forms: Iterable[tuple[int, Any]], source: str) -> Iterator[Event]:
    """Each form as an event, checked by itself and against the one before."""
    before: Event | None = None
    first_raw: dict[str, Any] = {}
    for number, (line, raw) in enumerate(forms):
        if not isinstance(raw, dict):
            raise HistoryError(f"{source}: line {line}: an event must be a map, not {raw!r:.60}")
        first_raw = first_raw or raw
        event = _event(raw, first_raw, number, line, source)
        if before is not None and event.number <= before.number:
            raise event.refuse(
                f"index {event.number} follows index {before.number}; "
                "indexes must be unique and grow"
            )
        if before is not None and event.time_ns < before.time_ns:
            raise event.refuse(
                f"time {event.time_ns} is before time {before.time_ns} of line {before.line}; "
                "all times must come from one clock that never goes back"
            )
        before = event
        yield event


def _event(
    raw: dict[str, Any], first: dict[str, Any], number: int, line: int, source: str
) -> Event:
    def refuse(why: str) -> HistoryError:
        return HistoryError(f"{source}: line {line}: {why}")

    for name in ("index", "time"):  # all events have it, or none has
        if (name in raw) != (name in first):
            missing = "the first event has none" if name in raw else "it is missing"
            raise refuse(f"'{name}' must be given for all events or for none; {missing}")
        if name in raw and not (is_integer(raw[name]) and 0 <= raw[name] <= INT64_MAX):
            raise refuse(f"'{name}' must be an integer from 0 up, not {raw[name]!r:.60}")
    for name in ("process", "type", "f"):
        if raw.get(name) is None:
            raise refuse(f"'{name}' is missing")
    process, kind = raw["process"], raw["type"]
    if kind not in TYPES:
        raise refuse(f"'type' must be one of {', '.join(TYPES)}, not {kind!r:.60}")
    if isinstance(process, int) and not (is_integer(process) and 0 <= process <= INT32_MAX):
        raise refuse(f"'process' must be an integer from 0 up, or a name, not {process!r:.60}")
    if not isinstance(process, int | str):
        raise refuse(f"'process' must be an integer or a name, not {process!r:.60}")
    if not isinstance(raw["f"], str):
        raise refuse(f"'f' must be a word, not {raw['f']!r:.60}")
    index = raw.get("index", number)
    return Event(
        source, line, index, raw.get("time", index), process if isinstance(process, int) else None,
        kind, raw["f"], raw.get("value"), raw,
    )  # fmt: skip


def says(operation: Operation, key: str) -> bool:
    """Whether its invocation or its completion has something true under this key."""
    return bool(operation.invoked.raw.get(key) or operation.last.raw.get(key))


def is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def paired(events: Iterable[Event]) -> Iterator[Operation]:
    """The clients' operations in order of their completion; the unanswered ones at the end."""
    pending: dict[int, Event] = {}
    for event in events:
        if event.process is None:
            continue
        invoked = pending.pop(event.process, None)
        if event.type == "invoke":
            if invoked is not None:
                raise event.refuse(
                    f"process {event.process} invokes although its operation of line "
                    f"{invoked.line} has not ended"
                )
            pending[event.process] = event
            continue
        if invoked is None:
            raise event.refuse(
                f"process {event.process} completes '{event.f}' (type {event.type}), "
                "but nothing was invoked"
            )
        if invoked.f != event.f:
            raise event.refuse(
                f"process {event.process} completes '{event.f}', but line {invoked.line} "
                f"invoked '{invoked.f}'"
            )
        yield Operation(invoked, event)
    for invoked in pending.values():
        yield Operation(invoked, None)
