"""Jepsen's Kafka histories: history.edn or JSON lines -> the frame that our judges read.

Source: jepsen/src/jepsen/tests/kafka.clj, the comment at its head. What their words mean in ours:

- A key is a partition (an integer of topic "jepsen", a name is a topic of its own); values are
  unique per key. An operation is numbered by the index of its completion.
- `ok` of f=txn is a committed, `fail` an aborted transaction, anything else is unknown; a send
  operation alone likewise. A record's own send is acknowledged where its offset is known.
- An operation of unknown end of which an ok operation polled a record has committed, so all of it;
  what else it sent must have been polled where somebody passed it (`decided.py`).
- All polls are read_committed, whatever becomes of the polling operation.
- Positions are kept from one ok operation of a process to its next; for one key they begin anew
  when assign or subscribe drops the key; for all when the process crashes or seeks to the
  beginning, or polls and it is not known what. A failed operation must be rewound: it leaves
  positions as they were.
  Between the operations of a subscriber the group may rebalance at any time; within one, a key of
  its rebalance-log did.
- All processes that ever subscribed form one group; `member_id` stands on what they read while
  they were subscribed.
- What the nemesis did are faults (`nemesis.py`).
- Events with `final` true are the final read. Where there is none the whole file counts as
  complete: each partition is said to have been read to its end after the last event.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from linearizability.history import F, HistoryError, Type
from linearizability.importers import edn, jsonl
from linearizability.importers.decided import Commit, Decided
from linearizability.importers.events import (
    INT32_MAX,
    WITH_KEYS,
    WITH_MICRO_OPERATIONS,
    Event,
    Operation,
    paired,
    read_events,
    says,
)
from linearizability.importers.micro import (
    Place,
    Poll,
    Send,
    has_untold_polls,
    keys_of,
    micro_operations,
    polls,
    rebalanced_keys,
)
from linearizability.importers.nemesis import faults
from linearizability.importers.rows import Row, Rows, Shared
from linearizability.inferred_log import READ_COMMITTED

CLIENT = GROUP = "jepsen"
SUFFIXES = (".edn", ".jsonl", ".ndjson", ".json")
NEMESIS = -1
FILES_OF_A_RUN = ("history.edn", "history.jsonl")


def is_jepsen(path: Path) -> bool:
    """Whether "auto" takes this for a history of Jepsen."""
    return path.suffix in SUFFIXES


def read(path: Path) -> pl.DataFrame:
    """The history of a file, or of a directory of Jepsen's store. Raises HistoryError."""
    if path.is_dir():
        found = [path / name for name in FILES_OF_A_RUN if (path / name).is_file()]
        if not found:
            raise HistoryError(f"{path}: holds neither {' nor '.join(FILES_OF_A_RUN)}")
        path = found[0]
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise HistoryError(f"{path}: no such history; give a .edn or .jsonl file") from error
    except UnicodeDecodeError as error:
        raise HistoryError(f"{path}: byte {error.start} is not UTF-8 text") from error
    is_json = text.lstrip()[:1] == "{" and text.lstrip()[1:].lstrip()[:1] == '"'
    forms = jsonl.forms if is_json or path.suffix in SUFFIXES[1:] else edn.forms
    with _without_collection():
        events = list(read_events(forms(text, str(path)), str(path)))
        if not events:
            raise HistoryError(f"{path}: holds no event; write one map a line (.jsonl, .edn)")
        return Import(events).frame()


@contextmanager
def _without_collection() -> Iterator[None]:
    """The collector of cycles would search the growing history over and over, for half the time of
    an import, and find nothing: the forms of a text have no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Import:
    """One history on its way: the rows so far, and the positions of each process."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.operations = list(paired(events))
        self.rows = Rows()
        self.sessions = Sessions()
        self.members = {o.last.process for o in self.operations if o.invoked.f == "subscribe"}
        self.sent_ns: dict[Place, dict[int, int]] = defaultdict(dict)
        """When the operation that sent a value was invoked."""

    def frame(self) -> pl.DataFrame:
        parsed = [(o, self._micro_operations(o)) for o in self.operations]
        for operation, micro in parsed:
            for one in micro:
                if isinstance(one, Send):
                    self._remember(operation, one)
        decided = Decided(parsed, self.sent_ns)
        for operation, micro in parsed:
            if operation.invoked.f in WITH_MICRO_OPERATIONS:
                if operation.type == Type.INFO.value and has_untold_polls(operation):
                    self._add_unknown_delivery(operation)
                self._add_records(operation, micro, decided)
                if operation.type == Type.INFO.value and polls(operation):
                    self.sessions.reset(operation.last.process)
            elif operation.invoked.f in WITH_KEYS:
                self._add_assignment(operation)
            elif operation.invoked.f == "crash":
                self.sessions.reset(operation.last.process)
        for event, detail in faults(self.events):
            self._add_fault(event, detail)
        self._add_end(sorted({m.place for _, micro in parsed for m in micro}, key=str))
        return self.rows.frame(CLIENT)

    def _micro_operations(self, operation: Operation) -> list[Send | Poll]:
        return micro_operations(operation) if operation.invoked.f in WITH_MICRO_OPERATIONS else []

    def _as_committed(self, operation: Operation) -> Operation:
        """An unknown operation that has committed: it ended with its time-out, or at the end."""
        end = operation.last if operation.completed else self.events[-1]
        completed = operation.last._replace(type=Type.OK.value, time_ns=end.time_ns)
        return Operation(operation.invoked, completed)

    def _remember(self, operation: Operation, sent: Send) -> None:
        values = self.sent_ns[sent.place]
        if sent.value in values:
            raise operation.last.refuse(
                f"value {sent.value} is sent to key {sent.key} a second time; "
                "the values of a key must be unique"
            )
        values[sent.value] = operation.invoked.time_ns

    def _begin(self, operation: Operation, txn: int | None = None) -> int:
        """The number of the operation in `rows`."""
        invoked, completed = operation
        last = completed or invoked
        return self.rows.begin(
            Shared(
                op_id=last.number,
                process=last.process,
                type=operation.type,
                final=says(operation, "final"),
                t_invoke_ns=invoked.time_ns,
                t_complete_ns=completed.time_ns if completed else None,
                group=GROUP if last.process in self.members else None,
                txn=txn,
            )
        )

    def _add_records(
        self, operation: Operation, micro: list[Send | Poll], decided: Decided
    ) -> None:
        process = operation.last.process
        commit = decided.commit(operation, micro)
        positions = self.sessions.of_operation(process, kept=operation.type == "ok")
        if commit is not None:
            operation = self._as_committed(operation)
        in_transaction = operation.invoked.f == "txn" or any(isinstance(m, Send) for m in micro)
        number = self._begin(operation, operation.last.number if in_transaction else None)
        rebalanced = rebalanced_keys(operation.last)
        member = str(process) if self.sessions.is_subscribed(process) else None
        records = 0
        for one in micro:
            if isinstance(one, Send):
                is_owed = commit is None or decided.is_owed(one, commit)
                sender = number if is_owed else self.rows.begin_again(number, None)
                self._add_sent(sender, operation, records, one)
                records += 1
                continue
            for some in one.split() if one.place in rebalanced else (one,):
                if some.place in rebalanced:
                    positions.renew(some.place)
                session = positions.session(some.place)
                self.rows.add_polled(number, records, session, member, some)
                records += len(some.offsets)
        if in_transaction:
            self._add_transaction_end(number, operation, micro, records, commit)
        unknown = operation.type == Type.INFO.value and self.sessions.subscribed(operation)
        if not micro and not unknown:  # else `_add_unknown_delivery` has said all
            nothing = Row(number, 0, F.POLL.value, member_id=member, isolation=READ_COMMITTED)
            self.rows.add(nothing)

    def _add_sent(self, number: int, operation: Operation, index: int, sent: Send) -> None:
        known = sent.offset is not None
        outcome = Type.OK if known or operation.type == "ok" else Type.INFO
        self.rows.add(
            Row(
                number, index, F.SEND.value, *sent.place, type=outcome.value, acks=-1,
                idempotent=True, offset=sent.offset, value=sent.value,
            )
        )  # fmt: skip

    def _add_unknown_delivery(self, operation: Operation) -> None:
        """Nobody knows what it polled. A member may have been given records of any key: Jepsen
        subscribes to the topics that its keys are in, and which others are in them is not told."""
        if not self.sessions.is_subscribed(operation.last.process):
            return
        number, member = self._begin(operation), str(operation.last.process)
        places = [*self.sessions.subscribed(operation), (None, None)]
        for taken, place in enumerate(places):
            self.rows.add(
                Row(
                    number, INT32_MAX - taken, F.POLL.value, *place, member_id=member,
                    isolation=READ_COMMITTED,
                )
            )  # fmt: skip

    def _add_transaction_end(
        self,
        number: int,
        operation: Operation,
        micro: list[Send | Poll],
        records: int,
        commit: Commit | None,
    ) -> None:
        """Its commit was asked for after all its polls, so after what they found was sent.

        commit: where its end was not answered but is decided; it is done when somebody saw it."""
        failed = operation.type == Type.FAIL.value
        asked_ns = operation.invoked.time_ns
        for one in micro:
            if isinstance(one, Poll):
                sent_ns = self.sent_ns[one.place]
                asked_ns = max(asked_ns, *(sent_ns.get(value, 0) for value in one.values))
        if operation.completed is not None:
            asked_ns = min(asked_ns, operation.completed.time_ns)
        if commit is not None:
            number = self.rows.begin_again(number, max(asked_ns, commit.done_ns))
        self.rows.add(
            Row(
                number, records, (F.ABORT if failed else F.COMMIT).value,
                type=Type.OK.value if failed else operation.type, t_invoke_ns=asked_ns,
            )
        )  # fmt: skip

    def _add_assignment(self, operation: Operation) -> None:
        event = operation.last if operation.last.value is not None else operation.invoked
        places = keys_of(event)
        process = operation.last.process
        self.sessions.assign(process, places, subscribed=operation.invoked.f == "subscribe")
        if says(operation, "seek-to-beginning?") or operation.type == Type.FAIL.value:
            self.sessions.reset(process)
        number = self._begin(operation)
        member = str(process) if self.sessions.is_subscribed(process) else None
        for index, place in enumerate(places):
            self.rows.add(Row(number, index, F.ASSIGN.value, *place, member_id=member))

    def _add_fault(self, event: Event, detail: str) -> None:
        done = Shared(
            event.number, NEMESIS, Type.INFO.value, final=False, t_invoke_ns=event.time_ns,
            t_complete_ns=event.time_ns, group=None, txn=None,
        )  # fmt: skip
        self.rows.add(Row(self.rows.begin(done), 0, F.NEMESIS.value, detail=detail))

    def _add_end(self, places: list[Place]) -> None:
        """The final read: from its first event on, or after all events where none is marked."""
        if not self.events:
            return
        last = self.events[-1]
        marked = [o for o in self.operations if says(o, "final")]
        began = min((o.invoked.time_ns for o in marked), default=last.time_ns + 1)
        end = Shared(
            last.number + 1, -1, Type.OK.value, final=True, t_invoke_ns=began,
            t_complete_ns=last.time_ns + 1, group=None, txn=None,
        )  # fmt: skip
        number = self.rows.begin(end)
        for index, place in enumerate(places):
            self.rows.add(Row(number, index, F.READ_ALL.value, *place, isolation=READ_COMMITTED))


class Sessions:
    """Which run of positions each (process, key) is in; numbers are never used twice."""

    def __init__(self) -> None:
        self._numbers = 0
        self._current: dict[int | None, dict[Place, int]] = defaultdict(dict)
        self._subscribed: dict[int | None, list[Place]] = {}

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def reset(self, process: int | None) -> None:
        self._current.pop(process, None)

    def is_subscribed(self, process: int | None) -> bool:
        return process in self._subscribed

    def subscribed(self, operation: Operation) -> list[Place]:
        """The keys that its process had subscribed to."""
        return self._subscribed.get(operation.last.process, [])

    def assign(self, process: int | None, places: list[Place], *, subscribed: bool) -> None:
        """Positions of keys that stay are kept; those of others are forgotten."""
        held = self._current[process]
        self._current[process] = {p: held[p] for p in places if p in held}
        if subscribed:
            self._subscribed[process] = places
            self.reset(process)
        else:
            self._subscribed.pop(process, None)

    def of_operation(self, process: int | None, *, kept: bool) -> Positions:
        """Positions for the records of one operation; kept: the next one goes on from there."""
        if process in self._subscribed:
            return Positions(self, {})
        current = self._current[process]
        return Positions(self, current if kept else dict(current))


class Positions:
    """Where one operation reads on."""

    def __init__(self, sessions: Sessions, current: dict[Place, int]) -> None:
        self._sessions, self._current = sessions, current

    def session(self, place: Place) -> int:
        if place not in self._current:
            self._current[place] = self._sessions.next_number()
        return self._current[place]

    def renew(self, place: Place) -> None:
        self._current[place] = self._sessions.next_number()
