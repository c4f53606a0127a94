"""Which rows of the history an operation becomes: columns of lists, for Arrow to take whole.

The row format is linearizability.history; what the columns mean is said there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import pyarrow as pa

from chaos.protocols import (
    Abort,
    Assign,
    Begin,
    Commit,
    Completion,
    Operation,
    Outcome,
    Performed,
    Poll,
    ReadAll,
    Record,
    Send,
)
from linearizability.history import COLUMNS, SCHEMA_VERSION, F, arrow_schema

NAMES = tuple(COLUMNS)
SCHEMA = arrow_schema()
NEMESIS_PROCESS = -1


@dataclass(frozen=True, slots=True)
class Event:
    """One finished operation as the hot path hands it over; completion None: it never ended."""

    op_id: int
    process: int
    operation: Operation
    completion: Completion | None
    t_invoke_ns: int
    t_complete_ns: int | None
    context: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NemesisEvent:
    """One performed fault."""

    op_id: int
    performed: Performed
    t_invoke_ns: int
    t_complete_ns: int | None


Columns = dict[str, Any]
"""Column -> a list with one value per row, or one value that all rows share."""


class RowBuilder:
    """Gathers events into columns and gives them out as one Arrow table."""

    def __init__(self, run_id: str, topic_ids: Mapping[str, str]) -> None:
        self.run_id = run_id
        self.topic_ids = topic_ids
        self._lists: dict[str, list[Any]] = {name: [] for name in NAMES}
        self.rows = 0

    def add(self, event: Event) -> None:
        """Append the rows of an operation."""
        make = _MAKERS[type(event.operation)]
        count, columns = make(event.operation, event.completion)
        shared: Columns = {
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
        columns["record_index"] = range(count)
        columns["schema_version"] = SCHEMA_VERSION
        columns["run_id"] = self.run_id
        topics = columns.get("topic")
        if isinstance(topics, list):
            columns["topic_id"] = [self.topic_ids.get(topic) for topic in topics]
        elif topics is not None:
            columns["topic_id"] = self.topic_ids.get(topics)
        columns.setdefault("final", False)
        for name, rows in self._lists.items():
            value = columns.get(name)
            rows.extend(value if isinstance(value, (list, range)) else repeat(value, count))
        self.rows += count

    def table(self) -> pa.Table:
        """Everything gathered so far, in the history's schema."""
        arrays = [pa.array(self._lists[field.name], type=field.type) for field in SCHEMA]
        return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _fault_json(performed: Performed) -> str:
    """The fault's JSON with the struck nodes added, so that a report needs no roles."""
    text = performed.fault.to_json()
    more = f', "nodes": {list(performed.nodes)}'
    if performed.note:
        note = performed.note.replace("\\", "/").replace('"', "'")
        more += f', "note": "{note}"'
    return text[:-1] + more + "}"


# --- one maker per operation: (number of rows, columns) -----------------------------------------


def _send(operation: Send, completion: Completion | None) -> tuple[int, Columns]:
    records = _settled(operation, completion)
    columns: Columns = {
        "f": F.SEND.value,
        "topic": operation.topic,
        "partition": operation.partition,
        "value": list(operation.values),
        "offset": [record.offset for record in records],
        "type": [record.outcome.value for record in records],
        "error": [record.error for record in records],
        "detail": completion.detail if completion else None,
    }
    if completion is not None and any(record.t_complete_ns for record in records):
        columns["t_complete_ns"] = [record.t_complete_ns for record in records]
    return len(records), columns | _extras(records)


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


def _per_partition(
    f: F, partitions: Sequence[tuple[str, int]], completion: Completion | None
) -> tuple[int, Columns]:
    columns: Columns = {
        "f": f.value,
        "topic": [topic for topic, _ in partitions],
        "partition": [partition for _, partition in partitions],
    }
    return len(partitions), columns | _how_it_ended(completion)


def _one_row(f: F) -> Callable[[Operation, Completion | None], tuple[int, Columns]]:
    def make(operation: Operation, completion: Completion | None) -> tuple[int, Columns]:
        return 1, {"f": f.value} | _how_it_ended(completion)

    return make


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
}
