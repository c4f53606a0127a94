"""Jepsen's Kafka histories: history.edn or JSON lines -> the frame that our judges read.

Source: jepsen/src/jepsen/tests/kafka.clj, the comment at its head. What their words mean in ours:

- A key is a partition (an integer of topic "jepsen", a name is a topic of its own); values are
  unique per key. An operation is numbered by the index of its completion.
- `ok` of f=txn is a committed, `fail` an aborted transaction, anything else is unknown; a send
  operation alone likewise. A record's own send is acknowledged where its offset is known.
- An operation of unknown end of which an ok operation polled a record has committed, so all of it.
- All polls are read_committed, whatever becomes of the polling operation.
- Positions are kept from one ok operation of a process to its next; for one key they begin anew
  when assign or subscribe drops the key; for all when the process crashes or seeks to the
  beginning. A failed operation must be rewound: it leaves positions as they were.
  Between the operations of a subscriber the group may rebalance at any time; within one, a key of
  its rebalance-log did.
- All processes that ever subscribed form one group; `member_id` stands on what they read while
  they were subscribed.
- Events with `final` true are the final read. Where there is none the whole file counts as
  complete: each partition is said to have been read to its end after the last event.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from linearizability.history import SCHEMA, SCHEMA_VERSION, F, HistoryError, Type
from linearizability.importers import edn, jsonl
from linearizability.importers.events import (
    INT32_MAX,
    WITH_KEYS,
    WITH_MICRO_OPERATIONS,
    Event,
    Operation,
    paired,
    read_events,
)
from linearizability.importers.micro import (
    Place,
    Poll,
    Send,
    keys_of,
    micro_operations,
    rebalanced_keys,
)
from linearizability.inferred_log import READ_COMMITTED

CLIENT = GROUP = "jepsen"
SUFFIXES = (".edn", ".jsonl", ".ndjson", ".json")
FILES_OF_A_RUN = ("history.edn", "history.jsonl")
COLUMNS = (
    "op_id", "record_index", "process", "session", "group", "member_id", "txn", "isolation",
    "acks", "idempotent", "f", "type", "final", "topic", "partition", "offset", "value",
    "t_invoke_ns", "t_complete_ns",
)  # fmt: skip
Row = tuple[Any, ...]


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
    events = list(read_events(forms(text, str(path)), str(path)))
    return Import(events).frame()


class Import:
    """One history on its way: the rows so far, and the positions of each process."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.operations = list(paired(events))
        self.rows: list[Row] = []
        self.sessions = Sessions()
        self.members = {o.last.process for o in self.operations if o.invoked.f == "subscribe"}
        self.shown: set[tuple[Place, int]] = set()
        """What ok operations polled."""
        self.sent_ns: dict[tuple[Place, int], int] = {}
        """When the operation that sent a value was invoked."""

    def frame(self) -> pl.DataFrame:
        parsed = [(o, self._micro_operations(o)) for o in self.operations]
        for operation, micro in parsed:
            for sent in micro:
                if isinstance(sent, Send):
                    self._remember(operation, sent)
                elif operation.type == Type.OK.value:
                    self.shown.add((sent.place, sent.value))
        for found, micro in parsed:
            operation = self._must_have_committed(found, micro)
            if found.type == Type.INFO.value and not any(isinstance(m, Poll) for m in micro):
                self._add_unknown_delivery(found)
            if operation.invoked.f in WITH_MICRO_OPERATIONS:
                self._add_records(operation, micro)
            elif operation.invoked.f in WITH_KEYS:
                self._add_assignment(operation)
            elif operation.invoked.f == "crash":
                self.sessions.reset(operation.last.process)
        places = {m.place for _, micro in parsed for m in micro if isinstance(m, Send | Poll)}
        self._add_end(sorted(places, key=str))
        types = {name: SCHEMA[name] for name in COLUMNS}
        frame = pl.DataFrame(self.rows, schema=types, orient="row").with_columns(
            schema_version=pl.lit(SCHEMA_VERSION, dtype=pl.Int16), client=pl.lit(CLIENT)
        )
        absent = [
            pl.lit(None, dtype=t).alias(n) for n, t in SCHEMA.items() if n not in frame.columns
        ]
        return frame.with_columns(absent).select(list(SCHEMA))

    def _micro_operations(self, operation: Operation) -> list[Send | Poll]:
        return micro_operations(operation) if operation.invoked.f in WITH_MICRO_OPERATIONS else []

    def _must_have_committed(self, operation: Operation, micro: list[Send | Poll]) -> Operation:
        """Jepsen's `must-have-committed?`. It ended when its time-out did, or at the end."""
        sent = [(m.place, m.value) for m in micro if isinstance(m, Send)]
        if operation.type != Type.INFO.value or self.shown.isdisjoint(sent):
            return operation
        end = operation.last if operation.completed else self.events[-1]
        completed = replace(
            operation.last, type=Type.OK.value, time_ns=end.time_ns, index=operation.last.index
        )
        return Operation(operation.invoked, completed)

    def _remember(self, operation: Operation, sent: Send) -> None:
        key = (sent.place, sent.value)
        if key in self.sent_ns:
            raise operation.last.refuse(
                f"value {sent.value} is sent to key {sent.key} a second time; "
                "the values of a key must be unique"
            )
        self.sent_ns[key] = operation.invoked.time_ns

    def _add(self, operation: Operation, **columns: object) -> None:
        completed = operation.completed
        shared = {
            "op_id": operation.last.index, "record_index": 0, "process": operation.last.process,
            "session": 0, "type": operation.type,
            "final": bool(operation.invoked.raw.get("final") or operation.last.raw.get("final")),
            "t_invoke_ns": operation.invoked.time_ns,
            "t_complete_ns": completed.time_ns if completed else None,
            "group": GROUP if operation.last.process in self.members else None,
        }  # fmt: skip
        row = shared | columns
        self.rows.append(tuple(row.get(name) for name in COLUMNS))

    def _add_records(self, operation: Operation, micro: list[Send | Poll]) -> None:
        process, index = operation.last.process, operation.last.index
        in_transaction = operation.invoked.f == "txn" or any(isinstance(m, Send) for m in micro)
        txn = index if in_transaction else None
        rebalanced = rebalanced_keys(operation.last)
        positions = self.sessions.of_operation(process, kept=operation.type == "ok")
        member = str(process) if self.sessions.is_subscribed(process) else None
        for number, one in enumerate(micro):
            place = {"topic": one.place[0], "partition": one.place[1], "txn": txn}
            if isinstance(one, Send):
                known = one.offset is not None
                outcome = Type.OK if known or operation.type == "ok" else Type.INFO
                self._add(
                    operation, record_index=number, f=F.SEND.value, type=outcome.value, acks=-1,
                    idempotent=True, value=one.value, offset=one.offset, **place,
                )  # fmt: skip
                continue
            if one.place in rebalanced:
                positions.renew(one.place)
            self._add(
                operation, record_index=number, f=F.POLL.value, isolation=READ_COMMITTED,
                session=positions.session(one.place), member_id=member, value=one.value,
                offset=one.offset, **place,
            )  # fmt: skip
        if txn is not None:
            self._add_transaction_end(operation, micro)
        if not micro:
            self._add(operation, f=F.POLL.value, isolation=READ_COMMITTED, txn=txn)

    def _add_unknown_delivery(self, operation: Operation) -> None:
        """Nobody knows what it polled: it may have been given records of any key it subscribed."""
        if operation.invoked.f not in ("poll", "txn"):
            return
        for number, (topic, partition) in enumerate(self.sessions.subscribed(operation)):
            self._add(
                operation, record_index=INT32_MAX - number, f=F.POLL.value, topic=topic,
                partition=partition, isolation=READ_COMMITTED,
                member_id=str(operation.last.process),
            )  # fmt: skip

    def _add_transaction_end(self, operation: Operation, micro: list[Send | Poll]) -> None:
        """Its commit was asked for after all its polls, so after what they found was sent."""
        failed = operation.type == Type.FAIL.value
        seen = [self.sent_ns.get((m.place, m.value), 0) for m in micro if isinstance(m, Poll)]
        asked_ns = max([operation.invoked.time_ns, *seen])
        if operation.completed is not None:
            asked_ns = min(asked_ns, operation.completed.time_ns)
        self._add(
            operation, record_index=len(micro), f=(F.ABORT if failed else F.COMMIT).value,
            type=(Type.OK.value if failed else operation.type), txn=operation.last.index,
            t_invoke_ns=asked_ns,
        )  # fmt: skip

    def _add_assignment(self, operation: Operation) -> None:
        event = operation.last if operation.last.value is not None else operation.invoked
        places = keys_of(event)
        process = operation.last.process
        self.sessions.assign(process, places, subscribed=operation.invoked.f == "subscribe")
        if operation.last.raw.get("seek-to-beginning?") or operation.type == Type.FAIL.value:
            self.sessions.reset(process)
        for number, (topic, partition) in enumerate(places):
            self._add(
                operation, record_index=number, f=F.ASSIGN.value, topic=topic, partition=partition
            )

    def _add_end(self, places: list[Place]) -> None:
        """The final read: from its first event on, or after all events where none is marked."""
        if not self.events:
            return
        last = self.events[-1]
        marked = [o for o in self.operations if o.invoked.raw.get("final")]
        began = min((o.invoked.time_ns for o in marked), default=last.time_ns + 1)
        for number, (topic, partition) in enumerate(places):
            row: Mapping[str, object] = {
                "op_id": last.index + 1, "record_index": number, "process": -1, "session": 0,
                "f": F.READ_ALL.value, "type": Type.OK.value, "final": True, "topic": topic,
                "partition": partition, "isolation": READ_COMMITTED, "t_invoke_ns": began,
                "t_complete_ns": last.time_ns + 1,
            }  # fmt: skip
            self.rows.append(tuple(row.get(name) for name in COLUMNS))


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
        lasting = kept and process not in self._subscribed
        return Positions(self, self._current[process] if lasting else {})


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
