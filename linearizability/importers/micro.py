"""The micro-operations of Jepsen's send, poll and txn, and the keys of assign and subscribe."""

from __future__ import annotations

from itertools import chain
from typing import Any

from linearizability.files.unreadable import shown
from linearizability.importers.events import INT32_MAX, NUMBER_MAX, Event, Operation, is_integer

TOPIC = "jepsen"
INT64_MAX = 2**63 - 1
NO_OFFSET = -1
Place = tuple[str, int]
"""(topic, partition)"""


Send = tuple[int, int, int]
"""One record sent: (number of its place (see Places), value, offset, or NO_OFFSET if unknown)."""
Poll = tuple[int, list[int]]
"""The records of one key in one poll: (its place, offset and value of each record in turn). (There
are millions: plain tuples take a tenth of the time of named ones.)"""


def in_pairs(pairs: list[int]) -> list[list[int]]:
    """Return the flat list of offsets and values as one [offset, value] list per record."""
    return [pairs[start : start + 2] for start in range(0, len(pairs), 2)]


class Places:
    """The partitions that keys stand for, numbered in the order of their appearance."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._by_place: dict[Place, int] = {}
        self.named: list[Place] = []

    def number(self, key: Any, event: Event) -> int:
        """Return the number of a key's partition, a new one at its first appearance. Raise
        HistoryError if it is not a key."""
        if type(key) is int or type(key) is str:
            known = self._numbers.get(key)
            if known is not None:
                return known
        place = place_of(key, event)
        number = self._by_place.setdefault(place, len(self.named))
        if number == len(self.named):
            self.named.append(place)
        self._numbers[key] = number
        return number


def place_of(key: Any, event: Event) -> Place:
    """Return a key's partition. An integer key from 0 to 2^31 - 1 (or a string of one, as in JSON's
    maps) is that partition of TOPIC; any other integer of 64 bits, and a name, is partition 0 of a
    topic of its own. Raise the event's error for a key that is neither."""
    if isinstance(key, str) and len(key) < 20 and key.isdecimal() and key == str(int(key)):
        key = int(key)
    if is_integer(key) and 0 <= key <= INT32_MAX:
        return TOPIC, key
    if is_integer(key) and abs(key) <= INT64_MAX:
        return str(key), 0
    if isinstance(key, str) and key:
        try:
            key.encode()
        except UnicodeEncodeError as error:
            raise event.refuse(f"key {shown(key)} is not Unicode text") from error
        return _topic_of(key), 0
    raise event.refuse(f"a key must be an integer of 64 bits or a name, not {shown(key)}")


def _topic_of(name: str) -> str:
    """Return the topic's name, quoted once more if it could be taken for the name of the integers'
    topic."""
    return f"{name}'" if name.rstrip("'") == TOPIC else name


def micro_operations(operation: Operation, places: Places) -> list[Send | Poll]:
    """Return all sends and polls of one operation, in order: the completed ones, then the sends
    that were only invoked. Raise HistoryError if the completion does not match the invocation, or
    if either is malformed."""
    invoked, completed = operation
    asked = _listed(invoked)
    if asked is None and invoked.f != "poll":
        raise invoked.refuse(f"the invocation of '{invoked.f}' does not say what it asks for")
    done = None if completed is None else _listed(completed)
    if completed is not None and done is None and completed.type == "ok":
        raise completed.refuse(f"an ok completion of '{completed.f}' does not say what was done")
    found: list[Send | Poll] = []
    if completed is not None:
        answers = 0
        if done is not None:
            answers = _add_done(found, done, completed, places)
            _require_same(asked, done, operation, places)
        completed.require_unique_keys(answers)
    for micro in (asked or ())[len(done or ()) :]:
        if micro[0] == "send":
            place, value, _ = _send(micro, invoked, places)
            found.append((place, value, NO_OFFSET))
    if invoked.has_more_keys(0):
        invoked.require_unique_keys(
            sum(len(m[1]) for m in asked or () if len(m) == 2 and isinstance(m[1], dict))
        )
    return found


def _add_done(
    found: list[Send | Poll], done: list[list[Any]], completed: Event, places: Places
) -> int:
    """Append to `found` the records that a completion reports. Return the number of keys in the
    answers of its polls. Raise the completion's error for a poll of an ok operation without an
    answer, and for anything malformed."""
    answers = 0
    for micro in done:
        if micro[0] == "send":
            found.append(_send(micro, completed, places))
        elif len(micro) > 1 and micro[1] is not None:
            if micro[1]:
                answers += _add_polls(found, micro[1], completed, places)
            elif type(micro[1]) is not dict:
                raise _no_answer(micro[1], completed)
        elif completed.type == "ok":
            raise completed.refuse("a poll of an ok operation does not list its records")
    return answers


def _require_same(
    asked: list[list[Any]] | None, done: list[list[Any]], operation: Operation, places: Places
) -> None:
    """Raise HistoryError unless the completion has the micro-operations that were invoked, in order
    and with the same keys and values; one that is not ok may lack the last of them. An invocation
    without a value (asked: None) polls."""
    invoked, completed = operation.invoked, operation.last
    if asked is None:
        asked = [["poll"]] * len(done)
    if len(done) > len(asked) or (len(done) < len(asked) and completed.type == "ok"):
        raise completed.refuse(
            f"the completion has {len(done)} micro-operations, but line {invoked.line} invoked "
            f"{len(asked)}"
        )
    for one, other in zip(asked, done, strict=False):
        if one[0] == other[0] and (
            one[0] == "poll"
            or (one[1] == other[1] and type(other[2]) is list and one[2] == other[2][1])
        ):
            continue  # as nearly all are
        if one[0] != other[0] or (
            _send(one, invoked, places)[:2] != _send(other, completed, places)[:2]
        ):
            raise completed.refuse(
                f"{shown(other)} completes {shown(one)} of line {invoked.line}; "
                "a completion must be that of its invocation"
            )


def has_untold_polls(operation: Operation) -> bool:
    """Return whether the operation requested more polls than those for which it reports received
    records."""
    told = sum(1 for m in _listed(operation.last) or () if m[0] == "poll" and len(m) > 1 and m[1])
    return told < _polls_asked(operation)


def _polls_asked(operation: Operation) -> int:
    asked = _listed(operation.invoked)
    return 1 if asked is None else sum(1 for micro in asked if micro[0] == "poll")


def polls(operation: Operation) -> bool:
    """Return whether the operation includes a poll."""
    return _polls_asked(operation) > 0


def _listed(event: Event) -> list[list[Any]] | None:
    """Return the micro-operations of an event, or None if it has no value. Raise the event's error
    if the value is anything else."""
    value = event.value
    if value is None:
        return None
    if type(value) is not list:
        raise event.refuse(f"the value of '{event.f}' must be a list of micro-operations")
    if value and type(value[0]) is str:
        value = [value]
    for micro in value:
        if type(micro) is not list or not micro or micro[0] not in ("send", "poll"):
            raise event.refuse(
                f"a micro-operation must be [send, key, value] or [poll …], not {shown(micro)}"
            )
        if micro[0] == "send":
            if len(micro) != 3:
                raise event.refuse(f"a send must be [send, key, value], not {shown(micro)}")
        elif len(micro) > 2:
            raise event.refuse(f"a poll must be [poll] or [poll, records], not {shown(micro)}")
    return value


def _send(micro: list[Any], event: Event, places: Places) -> Send:
    _, key, value = micro
    offset = NO_OFFSET
    if type(value) is list:
        if len(value) != 2:
            raise event.refuse(f"what was sent must be [offset, value], not {shown(value)}")
        if value[0] is not None:
            offset = value[0]
            if type(offset) is not int or not 0 <= offset <= NUMBER_MAX:
                raise _no_offset(offset, event)
        value = value[1]
    if type(value) is not int or not -INT64_MAX <= value <= INT64_MAX:
        raise _no_value(value, event)
    return places.number(key, event), value, offset


def _add_polls(found: list[Send | Poll], answer: Any, event: Event, places: Places) -> int:
    """Append to `found` the records that one poll received. Return the number of keys in its
    answer. Raise the event's error if the answer is malformed."""
    if type(answer) is not dict:
        raise _no_answer(answer, event)
    for key, records in answer.items():
        if type(records) is list and len(records) == 1:  # most have one
            record = records[0]
            if type(record) is list and len(record) == 2:
                offset, value = record
                if type(offset) is int and type(value) is int:
                    found.append((places.number(key, event), record))
                    continue
        try:
            pairs = list(chain.from_iterable(records))
            is_sound = (
                set(map(len, records)) == {2}
                and set(map(type, pairs)) == {int}
                and set(map(type, records)) == {list}
            )
        except TypeError:
            is_sound = False
        if is_sound:
            found.append((places.number(key, event), pairs))
        else:
            _explain_records(records, event)
    return len(answer)


def _no_answer(answer: Any, event: Event) -> Exception:
    return event.refuse(f"a poll must give a map of keys to records, not {shown(answer)}")


def _explain_records(records: Any, event: Event) -> None:
    """Raise HistoryError for the first malformed record; an empty list is allowed."""
    for record in records if isinstance(records, list) else [records]:
        if type(record) is not list or len(record) != 2:
            raise event.refuse(f"a polled record must be [offset, value], not {shown(record)}")
        offset, value = record
        if type(offset) is not int:
            raise _no_offset(offset, event)
        if type(value) is not int:
            raise _no_value(value, event)


def _no_offset(offset: Any, event: Event) -> Exception:
    return event.refuse(f"an offset must be an integer from 0 up to 2^62, not {shown(offset)}")


def _no_value(value: Any, event: Event) -> Exception:
    return event.refuse(f"a value must be an integer of 64 bits, not {shown(value)}")


def keys_of(event: Event, places: Places) -> list[int]:
    """Return the numbers (`Places`) of the partitions that an assign or subscribe event lists, in
    order. Raise the event's error if its value is not a list of keys."""
    if not isinstance(event.value, list):
        raise event.refuse(f"the value of '{event.f}' must be a list of keys")
    return [places.number(key, event) for key in event.value]


def rebalanced_keys(event: Event, places: Places) -> set[int]:
    """Return the numbers (`Places`) of the partitions whose assignment changed during the
    operation. Return none if the event has no 'rebalance-log', and raise its error if that is
    malformed."""
    log = event.raw.get("rebalance-log")
    if not log:
        return set()
    is_sound = isinstance(log, list) and all(
        isinstance(entry, dict) and isinstance(entry.get("keys") or [], list) for entry in log
    )
    if not is_sound:
        raise event.refuse("'rebalance-log' must be a list of maps whose 'keys' are lists")
    return {places.number(key, event) for entry in log for key in entry.get("keys") or []}
