"""Read the events of a Jepsen history, and pair each invocation with its completion.

One event: index, time (ns), process, type (invoke, ok, fail, info), f, value; other keys are
ignored. Each client's invocation is followed by its completion, or by none: then its outcome is
unknown. Errors that would make a verdict meaningless are refused with the number of their line,
above all operations that would be left out because they are not understood.

Events with the same time are ordered by their index: each is moved to a nanosecond after the one
before. Without indexes their order is unknown, and they overlap.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linearizability.files.sound_rows import YEAR_NS
from linearizability.files.unreadable import shown
from linearizability.history import HistoryError
from linearizability.importers.jsonl import Form, checked_again

TYPES = ("invoke", "ok", "fail", "info")
_KINDS = frozenset(TYPES)
WITH_MICRO_OPERATIONS = ("send", "poll", "txn")
WITH_KEYS = ("assign", "subscribe")
CRASH = "crash"
WITHOUT_RECORDS = (CRASH, "debug-topic-partitions")
KNOWN = frozenset({*WITH_MICRO_OPERATIONS, *WITH_KEYS, *WITHOUT_RECORDS})
HAVE_RECORDS = frozenset({*WITH_MICRO_OPERATIONS, *WITH_KEYS})
NEMESIS = "nemesis"
INT32_MAX = 2**31 - 1
NUMBER_MAX = 2**62
"""The largest index, time or offset that is accepted, since the judges add to them."""


class Event(NamedTuple):
    """One event of the history, as `Reader` has checked it."""

    source: str
    line: int
    number: int
    """The index of the event."""
    time_ns: int
    process: int | None
    """The process of a client, or None for the nemesis."""
    type: str
    f: str
    value: Any
    raw: dict[str, Any]
    text: str | None = None
    """The line as JSON, or None (see `jsonl.Form`)."""

    def refuse(self, why: str) -> HistoryError:
        named = f" (index {self.number})" if "index" in self.raw else ""
        return HistoryError(f"{self.source}: line {self.line}: {why}{named}")

    def has_more_keys(self, answers: int) -> bool:
        """Return whether the line has more colons than the event and its `answers` poll answers
        have keys. An additional colon is in a text or another map, or belongs to a duplicate key
        that was lost. Return False if `text` is None."""
        return self.text is not None and self.text.count(":") != len(self.raw) + answers

    def require_unique_keys(self, answers: int) -> None:
        """Raise HistoryError if a map of the line has a key twice. answers: see `has_more_keys`."""
        if self.text is not None and self.has_more_keys(answers):
            checked_again(self.text, self.line, self.source)


class Operation(NamedTuple):
    """An invocation with its completion, if there is one."""

    invoked: Event
    completed: Event | None

    @property
    def last(self) -> Event:
        """The completion, or the invocation that was never answered."""
        return self.completed or self.invoked

    @property
    def type(self) -> str:
        return self.completed.type if self.completed else "info"


class Reader:
    """Makes each form of a file an event, after checking it by itself and against the previous
    one."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.first: dict[str, Any] | None = None
        """The first event as it was read."""
        self.count = 0
        """The number of events so far."""
        self.first_ns: int | None = None
        """The time of the first event."""
        self.index, self.raw_time, self.time_ns, self.line = -1, 0, -1, 0
        """The index of the last event, its time as given and as it is taken, and its line."""

    def event(self, form: Form) -> Event:
        """Return the next event of the file. Raise HistoryError if the form is no valid event, if
        it does not follow the previous one in index and time, or if it is more than a year after
        the first one."""
        line, raw, text = form
        source = self.source
        if type(raw) is not dict:
            raise HistoryError(f"{source}: line {line}: an event must be a map, not {shown(raw)}")
        first = self.first
        if first is None:
            first = self.first = raw
        process, kind, f = raw.get("process"), raw.get("type"), raw.get("f")
        index = raw.get("index", self.count)
        time = raw.get("time", index)
        if (
            type(process) is not int
            or type(kind) is not str
            or type(f) is not str
            or type(index) is not int
            or type(time) is not int
            or kind not in _KINDS
            or not 0 <= process <= INT32_MAX
            or not self.index < index <= NUMBER_MAX
            or not self.raw_time <= time <= NUMBER_MAX
            or ("index" in raw) != ("index" in first)
            or ("time" in raw) != ("time" in first)
            or f not in HAVE_RECORDS
        ):
            _check_fields(raw, first, line, source)
            assert isinstance(time, int)
            _check_order((self.index, index), (self.raw_time, time, self.line), line, source)
            _check_client(raw, line, source)
        assert isinstance(time, int)
        assert isinstance(kind, str)
        assert isinstance(f, str)
        is_later = time > self.time_ns or "index" not in first
        self.count += 1
        self.index, self.raw_time, self.line = index, time, line
        self.time_ns = time if is_later else self.time_ns + 1
        if self.first_ns is None:
            self.first_ns = self.time_ns
        elif self.time_ns - self.first_ns >= YEAR_NS:
            raise self._of_another_year("time" in raw, time)
        client = process if type(process) is int else None
        return Event(
            source, line, index, self.time_ns, client, kind, f, raw.get("value"), raw, text
        )

    def _of_another_year(self, is_timed: bool, time: int) -> HistoryError:
        what = "time" if is_timed else "index, which stands for its time,"
        return HistoryError(
            f"{self.source}: line {self.line}: {what} {time} is more than a year (in nanoseconds) "
            f"after the first event's, {self.first_ns}; all times must come from one clock"
        )

    def skip(self, first_ns: int, last: Event, count: int, raw_time: int) -> None:
        """Go on as if these events had been read by `event`, which were checked elsewhere.
        first_ns: the time of the first of them. last, raw_time: the last of them, and its time as
        given. count: how many they are."""
        if self.first is None:
            self.first, self.first_ns = last.raw, first_ns
        self.count += count
        self.index, self.raw_time, self.line = last.number, raw_time, last.line
        self.time_ns = last.time_ns


def _check_fields(raw: dict[str, Any], first: dict[str, Any], line: int, source: str) -> None:
    """Raise HistoryError if a field of the event is missing, has the wrong type or is out of
    range."""

    def refuse(why: str) -> HistoryError:
        return HistoryError(f"{source}: line {line}: {why}")

    for name in ("index", "time"):  # all events have it, or none has
        if (name in raw) != (name in first):
            missing = "the first event has none" if name in raw else "it is missing"
            raise refuse(f"'{name}' must be given for all events or for none; {missing}")
        if name in raw and not (is_integer(raw[name]) and 0 <= raw[name] <= NUMBER_MAX):
            raise refuse(f"'{name}' must be an integer from 0 up to 2^62, not {shown(raw[name])}")
    for name in ("process", "type", "f"):
        if raw.get(name) is None:
            raise refuse(f"'{name}' is missing")
    process, kind = raw["process"], raw["type"]
    if kind not in TYPES:
        raise refuse(f"'type' must be one of {', '.join(TYPES)}, not {shown(kind)}")
    if isinstance(process, int) and not (is_integer(process) and 0 <= process <= INT32_MAX):
        raise refuse(
            f"'process' must be an integer from 0 up to 2^31 - 1, or a name, not {shown(process)}"
        )
    if not isinstance(process, int | str):
        raise refuse(f"'process' must be an integer or a name, not {shown(process)}")
    if not isinstance(raw["f"], str):
        raise refuse(f"'f' must be a word, not {shown(raw['f'])}")


def _check_order(
    indexes: tuple[int, int], times: tuple[int, int, int], line: int, source: str
) -> None:
    """Raise HistoryError where an event's index or time does not follow the one before."""
    before, index = indexes
    if index <= before:
        raise HistoryError(
            f"{source}: line {line}: index {index} follows index {before}; "
            "indexes must be unique and grow"
        )
    before_ns, time_ns, line_before = times
    if time_ns < before_ns:
        raise HistoryError(
            f"{source}: line {line}: time {time_ns} is before time {before_ns} of line "
            f"{line_before}; all times must come from one clock that never goes back"
        )


def _check_client(raw: dict[str, Any], line: int, source: str) -> None:
    """Raise HistoryError for a client's operation that the import would silently leave out: its
    process is not a number, its `f` is unknown and its value may name records, or its value names
    records although its `f` may not."""
    process, f, value = raw["process"], raw["f"], raw.get("value")
    if isinstance(process, str):
        is_clients = f in WITH_MICRO_OPERATIONS or f in WITH_KEYS or names_records(value)
        is_others = process != NEMESIS and (f in KNOWN or raw["type"] != "info")
        if is_clients or is_others:
            raise HistoryError(
                f"{source}: line {line}: operation {shown(f)} under process {shown(process)}, "
                "which is not a number; a client's process must be an integer"
            )
    elif f not in KNOWN and isinstance(value, list) and value:
        raise HistoryError(
            f"{source}: line {line}: 'f' {shown(f)} is not known, and its value may name records; "
            f"'f' must be one of {', '.join(sorted(KNOWN))}"
        )
    elif f in WITHOUT_RECORDS and names_records(value):
        raise HistoryError(
            f"{source}: line {line}: the value of 'f' {shown(f)} may not name records; "
            f"'f' must be one of {', '.join(WITH_MICRO_OPERATIONS)}"
        )


def names_records(value: Any) -> bool:
    """Return whether a value contains, or is, a micro-operation."""
    if not isinstance(value, list) or not value:
        return False
    some = [value, *(member for member in value if isinstance(member, list))]
    return any(one and one[0] in ("send", "poll") for one in some)


def says(operation: Operation, key: str) -> bool:
    """Return whether the operation's invocation or completion has a true value under this key."""
    invoked, completed = operation
    told = invoked.raw.get(key) or (completed is not None and completed.raw.get(key))
    return bool(told)


def is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Pairing:
    """The clients' invocations that have no completion yet."""

    def __init__(self) -> None:
        self._pending: dict[int, Event] = {}

    def operation(self, event: Event) -> Operation | None:
        """Return the operation that a client's event completes. Return None for an invocation,
        which is kept until its completion, and for an event of no client. Raise the event's error
        if it does not fit the process's open invocation."""
        process = event.process
        if process is None:
            return None
        invoked = self._pending.pop(process, None)
        if event.type == "invoke":
            if invoked is not None:
                raise event.refuse(
                    f"process {process} invokes although its operation of line "
                    f"{invoked.line} has not ended"
                )
            self._pending[process] = event
            return None
        if invoked is None:
            raise event.refuse(
                f"process {process} completes '{event.f}' (type {event.type}), "
                "but nothing was invoked"
            )
        if invoked.f != event.f:
            raise event.refuse(
                f"process {process} completes '{event.f}', but line {invoked.line} "
                f"invoked '{invoked.f}'"
            )
        return Operation(invoked, event)

    def pending(self) -> dict[int, Event]:
        """Return the invocations without a completion, by process, in their order. The dict is the
        pairing's own: a reader of several operations at once changes it."""
        return self._pending

    def unanswered(self) -> list[Operation]:
        """Return the operations that never ended, in the order of their invocations."""
        return [Operation(invoked, None) for invoked in self._pending.values()]
