"""Turn operations into rows of the history, in columns that become Arrow arrays.

linearizability.history defines the format and the meaning of the columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaos.record.row_makers import MAKERS, Columns
from chaos.values.operations import CreateTopic, Grow, Recreate
from chaos.values.protocols import Completion, Operation, Performed
from linearizability.history import COLUMNS, SCHEMA_VERSION, F, arrow_schema

NAMES = tuple(COLUMNS)
SCHEMA = arrow_schema()
NEMESIS_PROCESS = -1


class Event(NamedTuple):
    """One operation as a client's thread records it. completion: None if it never ended. The class
    is a tuple because a frozen dataclass takes four times as long to create."""

    op_id: int
    process: int
    operation: Operation
    completion: Completion | None
    t_invoke_ns: int
    t_complete_ns: int | None
    context: Mapping[str, Any]


class NemesisEvent(NamedTuple):
    """One performed fault, with the nodes that it affected."""

    op_id: int
    performed: Performed
    t_invoke_ns: int
    t_complete_ns: int | None


class _Column:
    """A column in run-length encoding: each value once, with the number of its rows.

    Most values are the same for all rows of an operation, and converting Python values to Arrow's
    is most of the cost of recording. So a value is converted once, and Arrow repeats it.
    """

    __slots__ = ("lengths", "rows", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.lengths: list[int] = []
        self.rows = 0

    def extend(self, at: int, count: int, value: Any) -> None:
        """Set `count` rows from row `at` on to `value`, or to the values of a list. Rows skipped
        before `at` become null."""
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
        """Add nulls until the column has this many rows."""
        if self.rows < rows:
            self.values.append(None)
            self.lengths.append(rows - self.rows)
            self.rows = rows

    def array(self, rows: int, type_: pa.DataType, values: list[Any] | None = None) -> pa.Array:
        """Return the column as an Arrow array. values: used instead of the column's own values, for
        a column that is computed from another."""
        if not self.values:
            return pa.nulls(rows, type=type_)
        self.fill(rows)
        found = pa.array(self.values if values is None else values, type=type_)
        if len(found) == rows:
            return found
        return found.take(np.repeat(np.arange(len(found)), self.lengths))


class RowBuilder:
    """Collects events as columns and returns them as one Arrow table."""

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
        """Append the rows of an operation. Before them come the further rows of its completion,
        such as positions and owned partitions (`Completion.more_rows`)."""
        count, columns = MAKERS[type(event.operation)](event.operation, event.completion)
        if isinstance(event.operation, CreateTopic | Recreate | Grow):
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
        told = event.completion.more_rows if event.completion else ()
        self._extend((*_further(told, shared), (count, shared | columns)))

    def add_nemesis(self, event: NemesisEvent) -> None:
        """Append the row of a fault: the fault that was requested, and the nodes that it
        affected."""
        performed = event.performed
        columns = {
            "op_id": event.op_id,
            "final": False,
            "process": NEMESIS_PROCESS,
            "f": F.NEMESIS.value,
            "type": "ok" if performed.nodes or not performed.note else "info",
            "node": performed.nodes[0] if len(performed.nodes) == 1 else None,
            "t_invoke_ns": event.t_invoke_ns,
            "t_complete_ns": event.t_complete_ns,
            "detail": _fault_json(performed),
        }
        self._extend(((1, columns),))

    def _extend(self, blocks: Sequence[tuple[int, Columns]]) -> None:
        """Append the rows of one operation."""
        before = self.rows
        for count, columns in blocks:
            if not count:
                continue
            for name, value in columns.items():
                if value is not None:
                    self._columns[name].extend(self.rows, count, value)
            self.rows += count
        if self.rows > before:
            self._counts.append(self.rows - before)

    def table(self) -> pa.Table:
        """Return all rows gathered so far as a table with the history's schema."""
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
    """Return the fault as JSON, with the affected nodes and a note, if any, added, so that a report
    need not know which node had which role. A Heal that failed is called FailedHeal."""
    told: dict[str, Any] = json.loads(performed.fault.to_json())
    if performed.failed and told["fault"] == "Heal":
        told["fault"] = "FailedHeal"  # for judges, a Heal ends all faults
    told |= {"nodes": performed.nodes} | ({"note": performed.note} if performed.note else {})
    return json.dumps(told, ensure_ascii=False)


def _further(rows: Sequence[Mapping[str, Any]], shared: Columns) -> Iterator[tuple[int, Columns]]:
    """Yield the further rows of a completion (`Completion.more_rows`), with missing columns
    taken from the operation."""
    alike = {name: value for name, value in shared.items() if not isinstance(value, list)}
    for row in rows:
        yield 1, {"type": "ok", **alike, **row}
