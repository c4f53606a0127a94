"""Which rows of the history an operation becomes: columns of lists, for Arrow to take whole.

The row format is linearizability.history; what the columns mean is said there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaos.operations import (
    CommitPosition,
    CreateTopic,
    DeleteRecords,
    FetchPositions,
    ReadLatest,
    Recreate,
)
from chaos.protocols import (
    Abort,
    Assign,
    Begin,
    Commit,
    CommitOffsets,
    Completion,
    Crash,
    Leave,
    Operation,
    Outcome,
    Performed,
    Poll,
    ReadAll,
    Record,
    Send,
    Subscribe,
)
from linearizability.history import COLUMNS, SCHEMA_VERSION, F, arrow_schema

NAMES = tuple(COLUMNS)
SCHEMA = arrow_schema()
NEMESIS_PROCESS = -1


class Event(NamedTuple):
    """One finished operation as the hot path hands it over; completion None: it never ended.

    A tuple, since a frozen dataclass takes four times as long to make.
    """

    op_id: int
    process: int
    operation: Operation
    completion: Completion | None
    t_invoke_ns: int
    t_complete_ns: int | None
    context: Mapping[str, Any]


class NemesisEvent(NamedTuple):
    """One performed fault."""

    op_id: int
    performed: Performed
    t_invoke_ns: int
    t_complete_ns: int | None


Columns = dict[str, Any]
"""Column -> a list with one value per row, or one value that all rows share."""


class _Column:
    """A column as runs: each value once, and how many rows it stands for.

    Most cells are one value for all rows of an operation, and turning Python values into Arrow's
    is what recording costs; so a value is turned once, and Arrow repeats it.
    """

    __slots__ = ("lengths", "rows", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.lengths: list[int] = []
        self.rows = 0

    def extend(self, at: int, count: int, value: Any) -> None:
        """Put `value`, or each of a list, into `count` rows from row `at` on; nulls before it."""
        if self.rows < at:
            self.fill(at)
        if isinstance(value, list):
            self.values += value
            self.lengths.extend(repeat(1, count))
        else:
            self.values.append(value)
            self.lengths.append(count)
        self.rows = at + count

    def fill(self, rows: int) -> None:
        """Nulls up to this row."""
        if self.rows < rows:
            self.values.append(None)
            self.lengths.append(rows - self.rows)
            self.rows = rows

    def array(self, rows: int, type_: pa.DataType, values: list[Any] | None = None) -> pa.Array:
        """As Arrow has it; `values` instead of our own, where a column follows from another."""
        if not self.values:
            return pa.nulls(rows, type=type_)
        self.fill(rows)
        found = pa.array(self.values if values is None else values, type=type_)
        if len(found) == rows:
            return found
        return found.take(np.repeat(np.arange(len(found)), self.lengths))


class RowBuilder:
    """Gathers events into columns and gives them out as one Arrow table."""

    def __init__(
        self, run_id: str, topic_ids: Mapping[str, str], topic_defaults: Mapping[str, str]
    ) -> None:
        self.run_id = run_id
        self.topic_ids = topic_ids
        self.topic_defaults = topic_defaults
        self.rows = 0
        self._counts: list[int] = []
        self._columns = {name: _Column() for name in NAMES}

    def add(self, event: Event) -> None:
        """Append the rows of an operation."""
        make = _MAKERS[type(event.operation)]
        count, columns = make(event.operation, event.completion)
        if isinstance(event.operation, CreateTopic | Recreate):
            settings = {**self.topic_defaults, **event.operation.topic.config}
            columns["settings"] = json.dumps(settings, sort_keys=True)
        shared: Columns = {
            "final": False,
            "op_id": event.op_id,
            "process": event.process,
            "t_invoke_ns": event.t_invoke_ns,
            "t_complete_ns": event.t_complete_ns,
            **event.context,
        }
        self._extend(count, shared | columns)

    def add_nemesis(self, event: NemesisEvent) -> None:
        """Append the row of a fault: what was asked, and the nodes that it struck."""
        performed = event.performed
        self._extend(
            1,
            {
                "op_id": event.op_id,
                "final": False,
                "process": NEMESIS_PROCESS,
                "f": F.NEMESIS.value,
                "type": "ok" if performed.nodes or not performed.note else "info",
                "node": performed.nodes[0] if len(performed.nodes) == 1 else None,
                "t_invoke_ns": event.t_invoke_ns,
                "t_complete_ns": event.t_complete_ns,
                "detail": _fault_json(performed),
            },
        )

    def _extend(self, count: int, columns: Columns) -> None:
        if not count:
            return
        for name, value in columns.items():
            if value is not None:
                self._columns[name].extend(self.rows, count, value)
        self._counts.append(count)
        self.rows += count

    def table(self) -> pa.Table:
        """Everything gathered so far, in the history's schema."""
        return pa.Table.from_arrays([self._array(column) for column in SCHEMA], schema=SCHEMA)

    def _array(self, column: pa.Field) -> pa.Array:
        match column.name:
            case "schema_version":
                return pa.repeat(pa.scalar(SCHEMA_VERSION, type=column.type), self.rows)
            case "run_id":
                return pa.repeat(pa.scalar(self.run_id, type=column.type), self.rows)
            case "record_index":
                counts = np.array(self._counts, dtype=np.int64)
                starts = np.cumsum(counts) - counts
                return pa.array(np.arange(self.rows) - np.repeat(starts, counts), type=column.type)
            case "topic_id":
                topics = self._columns["topic"]
                topics.fill(self.rows)
                ids = [self.topic_ids.get(topic) for topic in topics.values]
                known = topics.array(self.rows, column.type, ids)
                told = self._columns["topic_id"].array(self.rows, column.type)
                return pc.coalesce(told, known)
            case name:
                return self._columns[name].array(self.rows, column.type)


def _fault_json(performed: Performed) -> str:
    """The fault's JSON with the struck nodes added, so that a report needs no roles."""
    told: dict[str, Any] = json.loads(performed.fault.to_json())
    if performed.failed and told["fault"] == "Heal":
        told["fault"] = "FailedHeal"  # judges take a heal for the end of all faults
    told |= {"nodes": performed.nodes} | ({"note": performed.note} if performed.note else {})
    return json.dumps(told, ensure_ascii=False)


# --- one maker per operation: (number of rows, columns) -----------------------------------------


def _send(operation: Send, completion: Completion | None) -> tuple[int, Columns]:
    records = _settled(operation, completion)
    columns: Columns = {
        "f": F.SEND.value,
        "topic": operation.topic,
        "partition": operation.partition,
        "value": list(operation.values),
        "key": list(operation.keys) or None,
        "tombstone": _tombstones(operation),
        "offset": [record.offset for record in records],
        "detail": completion.detail if completion else None,
    }
    if completion is not None and any(record.t_complete_ns for record in records):
        columns["t_complete_ns"] = [record.t_complete_ns for record in records]
    return len(records), columns | _outcomes(records) | _extras(records)


def _tombstones(operation: Send) -> list[bool] | None:
    if not operation.keys:
        return None
    return list(operation.tombstones or [False] * len(operation.values))


def _settled(operation: Send, completion: Completion | None) -> Sequence[Record]:
    """One record per value, in order; a value of which the client said nothing is as the whole."""
    if completion is not None and len(completion.records) == len(operation.values):
        return completion.records
    said = {record.value: record for record in completion.records} if completion else {}
    return [
        said.get(value) or _unsaid(operation.topic, operation.partition, value, completion)
        for value in operation.values
    ]


def _unsaid(topic: str, partition: int, value: int | None, completion: Completion | None) -> Record:
    if completion is None:
        return Record(topic, partition, value, None, Outcome.INFO)
    return Record(topic, partition, value, None, completion.outcome, completion.error)


def _poll(operation: Poll, completion: Completion | None) -> tuple[int, Columns]:
    records = completion.records if completion else ()
    if not records:
        return 1, {"f": F.POLL.value} | _how_it_ended(completion)
    return len(records), {"f": F.POLL.value} | _delivered(records) | _extras(records)


def _read_all(operation: ReadAll, completion: Completion | None) -> tuple[int, Columns]:
    isolation = {"isolation": operation.isolation.value}
    records = completion.records if completion else ()
    if not records:
        count, columns = _per_partition(F.READ_ALL, operation.partitions, completion)
        return count, columns | isolation
    columns = _delivered(records) | _extras(records)
    columns["f"] = [record.extra.get("f", F.POLL.value) for record in records]
    return len(records), columns | isolation


def _assign(operation: Assign, completion: Completion | None) -> tuple[int, Columns]:
    return _per_partition(F.ASSIGN, operation.partitions, completion)


def _commit_offsets(operation: CommitOffsets, completion: Completion | None) -> tuple[int, Columns]:
    records = completion.records if completion else ()
    if not records:  # there was nothing to commit, or it was not heard of again
        return 1, {"f": F.COMMIT_OFFSETS.value} | _how_it_ended(completion)
    return len(records), {"f": F.COMMIT_OFFSETS.value} | _delivered(records)


def _create_topic(
    operation: CreateTopic | Recreate, completion: Completion | None
) -> tuple[int, Columns]:
    topic = operation.topic
    partitions = [(topic.name, partition) for partition in range(topic.partitions)]
    return _per_partition(F.TOPIC, partitions, completion)


def _read_latest(operation: ReadLatest, completion: Completion | None) -> tuple[int, Columns]:
    place = [(operation.topic, operation.partition)]
    count, columns = _per_partition(F.READ_LATEST, place, completion)
    if completion is None or not completion.records:
        return count, columns
    return count, columns | _delivered(completion.records) | _extras(completion.records)


def _fetch_positions(
    operation: FetchPositions, completion: Completion | None
) -> tuple[int, Columns]:
    asked = [(operation.topic, partition) for partition in operation.partitions]
    count, columns = _per_partition(F.FETCH_OFFSETS, asked, completion)
    columns["group"] = operation.group
    if completion is not None and completion.records:
        offsets = {record.partition: record.offset for record in completion.records}
        columns["offset"] = [offsets.get(partition) for partition in operation.partitions]
    return count, columns


def _commit_position(
    operation: CommitPosition, completion: Completion | None
) -> tuple[int, Columns]:
    count, columns = _one_position(operation, completion)
    if operation.member is not None:
        columns["member_id"] = operation.member.member_id
        columns["generation"] = operation.member.generation
    return count, columns


def _per_partition(
    f: F, partitions: Sequence[tuple[str, int]], completion: Completion | None
) -> tuple[int, Columns]:
    columns: Columns = {
        "f": f.value,
        "topic": [topic for topic, _ in partitions],
        "partition": [partition for _, partition in partitions],
    }
    return len(partitions), columns | _how_it_ended(completion)


def _one_row(f: F, *fields: str) -> Callable[[Operation, Completion | None], tuple[int, Columns]]:
    """A row with these fields of the operation, which are columns of the same names."""

    def make(operation: Operation, completion: Completion | None) -> tuple[int, Columns]:
        told = {field: getattr(operation, field) for field in fields}
        return 1, {"f": f.value} | told | _how_it_ended(completion)

    return make


_one_position = _one_row(F.COMMIT_OFFSETS, "group", "topic", "partition", "offset")


def _how_it_ended(completion: Completion | None) -> Columns:
    if completion is None:
        return {"type": "info"}
    return {
        "type": completion.outcome.value,
        "error": completion.error,
        "detail": completion.detail,
    }


def _delivered(records: Sequence[Record]) -> Columns:
    return {
        "topic": [record.topic for record in records],
        "partition": [record.partition for record in records],
        "value": [record.value for record in records],
        "offset": [record.offset for record in records],
    } | _outcomes(records)


def _outcomes(records: Sequence[Record]) -> Columns:
    if all(record.outcome is Outcome.OK for record in records):
        return {"type": "ok"}
    return {
        "type": [record.outcome.value for record in records],
        "error": [record.error for record in records],
    }


def _extras(records: Sequence[Record]) -> Columns:
    """The further columns that any of the records brings."""
    names = dict.fromkeys(name for record in records for name in record.extra)
    return {name: [record.extra.get(name) for record in records] for name in names}


_MAKERS: dict[type[Operation], Callable[[Any, Completion | None], tuple[int, Columns]]] = {
    Send: _send,
    Poll: _poll,
    ReadAll: _read_all,
    Assign: _assign,
    Begin: _one_row(F.BEGIN),
    Commit: _one_row(F.COMMIT),
    Abort: _one_row(F.ABORT),
    Subscribe: _one_row(F.SUBSCRIBE),
    CommitOffsets: _commit_offsets,
    Leave: _one_row(F.LEAVE),
    Crash: _one_row(F.CRASH),
    CreateTopic: _create_topic,
    Recreate: _create_topic,
    DeleteRecords: _one_row(F.DELETE_RECORDS, "topic", "partition", "offset"),
    ReadLatest: _read_latest,
    CommitPosition: _commit_position,
    FetchPositions: _fetch_positions,
}
