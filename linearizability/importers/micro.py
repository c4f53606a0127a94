"""The micro-operations of Jepsen's send, poll and txn, and the keys of assign and subscribe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from linearizability.importers.events import (
    INT32_MAX,
    INT64_MAX,
    Event,
    Operation,
    is_integer,
)

TOPIC = "jepsen"
Place = tuple[str, int]
"""(topic, partition)"""


class Send(NamedTuple):
    """One record sent; offset: None where it is not known."""

    place: Place
    key: Any
    value: int
    offset: int | None


class Poll(NamedTuple):
    """What one poll gave of one key: offsets and values, record by record."""

    place: Place
    offsets: list[int]
    values: list[int]

    def split(self) -> Iterator[Poll]:
        """Each record by itself."""
        for offset, value in zip(self.offsets, self.values, strict=True):
            yield Poll(self.place, [offset], [value])


def place_of(key: Any, event: Event) -> Place:
    """An integer (JSON's maps have it as a string) is a partition; a name is a topic of its own, as
    is an integer that numbers no partition."""
    if isinstance(key, str) and key.isdecimal() and key == str(int(key)):
        key = int(key)
    if is_integer(key) and 0 <= key <= INT32_MAX:
        return TOPIC, key
    if is_integer(key) or (isinstance(key, str) and key):
        return _topic_of(str(key)), 0
    raise event.refuse(f"a key must be an integer or a name, not {key!r:.60}")


def _topic_of(name: str) -> str:
    """The name, unless it might be taken for that of the integers: it is quoted once more."""
    return f"{name}'" if name.rstrip("'") == TOPIC else name


def micro_operations(operation: Operation) -> list[Send | Poll]:
    """All that one operation did, in order: as completed, and the sends that were only invoked."""
    found: list[Send | Poll] = []
    if operation.completed is not None and operation.completed.value is not None:
        found += _parsed(operation.completed, invoked=False)
    named = {(m.place, m.value) for m in found if isinstance(m, Send)}
    asked = _parsed(operation.invoked, invoked=True)
    return found + [m for m in asked if isinstance(m, Send) and (m.place, m.value) not in named]


def polls(operation: Operation) -> bool:
    """Whether it was to poll."""
    return bool(_polls_in(operation.invoked))


def has_untold_polls(operation: Operation) -> bool:
    """Whether it was to poll more often than it names records that it was given."""
    told = [m for m in _polls_in(operation.last) if len(m) > 1 and m[1]]
    return len(told) < len(_polls_in(operation.invoked))


def _polls_in(event: Event) -> list[list[Any]]:
    return [m for m in _listed(event) if isinstance(m, list) and m[:1] == ["poll"]]


def _parsed(event: Event, *, invoked: bool) -> Iterator[Send | Poll]:
    for micro in _listed(event):
        if not isinstance(micro, list) or not micro or micro[0] not in ("send", "poll"):
            raise event.refuse(
                f"a micro-operation must be [send, key, value] or [poll …], not {micro!r:.60}"
            )
        if micro[0] == "send":
            if len(micro) != 3:
                raise event.refuse(f"a send must be [send, key, value], not {micro!r:.60}")
            yield _send(micro, event)
        elif not invoked and len(micro) > 1:
            yield from _polls(micro[1], event)


def _listed(event: Event) -> list[Any]:
    value = [] if event.value is None else event.value
    if not isinstance(value, list):
        raise event.refuse(f"the value of '{event.f}' must be a list of micro-operations")
    return [value] if value and isinstance(value[0], str) else value


def _send(micro: list[Any], event: Event) -> Send:
    key, value, offset = micro[1], micro[2], None
    if isinstance(value, list):
        if len(value) != 2:
            raise event.refuse(f"what was sent must be [offset, value], not {value!r:.60}")
        offset, value = value
    if offset is not None:
        _check("an offset", offset, 0, event)
    _check("a value", value, -INT64_MAX, event)
    return Send(place_of(key, event), key, value, offset)


def _polls(answer: Any, event: Event) -> Iterator[Poll]:
    if answer is None:
        return
    if not isinstance(answer, dict):
        raise event.refuse(f"a poll must give a map of keys to records, not {answer!r:.60}")
    for key, records in answer.items():
        place = place_of(key, event)
        offsets, values = [], []
        for record in records if isinstance(records, list) else [records]:
            if type(record) is not list or len(record) != 2:
                raise event.refuse(f"a polled record must be [offset, value], not {record!r:.60}")
            offset, value = record
            if type(offset) is not int or not 0 <= offset <= INT64_MAX:
                _check("an offset", offset, 0, event)
            if type(value) is not int or not -INT64_MAX <= value <= INT64_MAX:
                _check("a value", value, -INT64_MAX, event)
            offsets.append(offset)
            values.append(value)
        if offsets:
            yield Poll(place, offsets, values)


def _check(what: str, number: Any, least: int, event: Event) -> None:
    if not (is_integer(number) and least <= number <= INT64_MAX):
        bound = "an integer from 0 up" if least == 0 else "an integer"
        raise event.refuse(f"{what} must be {bound}, not {number!r:.60}")


def keys_of(event: Event) -> list[Place]:
    """The keys that assign or subscribe lists."""
    if not isinstance(event.value, list):
        raise event.refuse(f"the value of '{event.f}' must be a list of keys")
    return [place_of(key, event) for key in event.value]


def rebalanced_keys(event: Event) -> set[Place]:
    """The keys whose assignment changed during the operation."""
    log = event.raw.get("rebalance-log") or []
    if not isinstance(log, list) or not all(isinstance(entry, dict) for entry in log):
        raise event.refuse("'rebalance-log' must be a list of maps with 'keys'")
    return {place_of(key, event) for entry in log for key in entry.get("keys") or []}
