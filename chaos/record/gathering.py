"""Gather the events of a run, each as one tuple in a list, until they are written into a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from itertools import count
from typing import Any

import pyarrow as pa

from chaos.record.counts import Counts
from chaos.record.rows import Event, NemesisEvent, RowBuilder
from chaos.values.protocols import Completion, Operation, Performed

HISTORY = "history.parquet"


class Gathering:
    """The recorder's part without files: it collects the events that are not written yet, counts
    them, and turns events into rows of the history."""

    def __init__(self, run_id: str, lock: AbstractContextManager[object]) -> None:
        """Start without events. lock: held while events are added, so that threads may add them."""
        self.run_id = run_id
        self.topic_ids: dict[str, str] = {}
        self.topic_defaults: dict[str, str] = {}
        """The settings of topics that do not set them themselves, as the brokers' settings
        determine them."""
        self.counts = Counts()
        self._op_ids = count(1)
        self._lock = lock
        self._done: list[Event | NemesisEvent] = []
        self._open: dict[int, Event] = {}

    @property
    def records_acknowledged(self) -> int:
        return self.counts.records_acknowledged

    def next_op_id(self) -> int:
        return next(self._op_ids)

    def invoked(
        self,
        op_id: int,
        process: int,
        operation: Operation,
        t_invoke_ns: int,
        context: Mapping[str, Any],
    ) -> None:
        event = Event(op_id, process, operation, None, t_invoke_ns, None, context)
        with self._lock:
            self._open[op_id] = event

    def record(
        self,
        op_id: int,
        process: int,
        operation: Operation,
        completion: Completion,
        t_invoke_ns: int,
        t_complete_ns: int | None,
        context: Mapping[str, Any],
    ) -> None:
        event = Event(op_id, process, operation, completion, t_invoke_ns, t_complete_ns, context)
        with self._lock:
            self._open.pop(op_id, None)
            self._done.append(event)
            self.counts.add(operation, completion)

    def nemesis(
        self, performed: Performed, t_invoke_ns: int, t_complete_ns: int | None = None
    ) -> None:
        event = NemesisEvent(self.next_op_id(), performed, t_invoke_ns, t_complete_ns)
        with self._lock:
            self._done.append(event)
            self.counts.faults += 1

    def table_of(self, events: Iterable[Event | NemesisEvent]) -> pa.Table:
        """Return these events as rows of the history."""
        builder = RowBuilder(self.run_id, self.topic_ids, self.topic_defaults)
        for event in events:
            if isinstance(event, NemesisEvent):
                builder.add_nemesis(event)
            else:
                builder.add(event)
        return builder.table()
