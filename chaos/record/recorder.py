"""Record the history while the run goes on, so that a killed run keeps its parts.

The hot path appends one tuple to a list; a writer thread turns what has gathered into Arrow tables
and writes them as `history.parts/part-00001.parquet` and so on, each whole before it gets its name.
`close()` joins the parts into `history.parquet`; `recover()` does the same for a run that died.

A send is invoked long before it completes, and others may read its values meanwhile. So each part
comes with `open-00001.parquet`: the operations that were under way at that very moment, as INFO.
Part and open set are taken under one lock: whatever a poll in the parts has seen was sent by an
operation in the parts or in the newest open set.
"""

from __future__ import annotations

import gc
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from chaos.record.rows import SCHEMA, Event, NemesisEvent, RowBuilder
from chaos.values.protocols import Completion, Operation, Outcome, Performed, Poll, Send
from linearizability.history import ROW_GROUP_ROWS, HistoryError
from linearizability.parquet import WRITING

GARBAGE_THRESHOLD = 50_000
"""How many objects start the cycle collector. Those that wait to be written are not garbage, yet by
default every 700 of them start it: three quarters of what recording cost the clients' threads."""

FLUSH_S = 2.0
"""A killed run loses this much at most."""

PARTS = "history.parts"
HISTORY = "history.parquet"


class RecorderError(RuntimeError):
    """The history cannot be written: one sentence, and what to do."""


class Counts:
    """Count the operations by outcome, for the progress line and run.json."""

    def __init__(self) -> None:
        self.by_outcome = dict.fromkeys(Outcome, 0)
        self.by_operation: dict[str, int] = {}
        self.errors: Counter[tuple[str, str]] = Counter()
        """By operation and error."""
        self.details: dict[tuple[str, str], str] = {}
        """The first sentence that came with such an error."""
        self.records_acknowledged = 0
        self.records_read = 0
        self.faults = 0

    def add(self, operation: Operation, completion: Completion) -> None:
        outcome, records = completion.outcome, completion.records
        name = type(operation).__name__
        self.by_operation[name] = self.by_operation.get(name, 0) + 1
        self.by_outcome[outcome] += 1
        if completion.error is not None:
            self.errors[name, completion.error] += 1
            if completion.detail:
                self.details.setdefault((name, completion.error), completion.detail)
        if isinstance(operation, Send):
            if outcome is Outcome.OK:
                self.records_acknowledged += len(records)
            else:
                self.records_acknowledged += sum(r.outcome is Outcome.OK for r in records)
        elif records:
            self.records_read += len(records)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts for run.json."""
        return {
            **{outcome.value: number for outcome, number in self.by_outcome.items()},
            "records_acknowledged": self.records_acknowledged,
            "records_read": self.records_read,
            "faults": self.faults,
            "by_operation": dict(self.by_operation),
        }


class HistoryRecorder:
    """The recorder of a run directory; see the head of this file. Thread-safe."""

    def __init__(self, directory: Path, run_id: str, flush_s: float = FLUSH_S) -> None:
        self.directory = directory
        self.run_id = run_id
        self.topic_ids: dict[str, str] = {}
        self.topic_defaults: dict[str, str] = {}
        """Settings that hold, by the brokers', for topics which do not say otherwise."""
        self.counts = Counts()
        self.problem: str | None = None
        """Why the history can no longer be written, if so."""
        self._parts = directory / PARTS
        self._op_ids = count(1)
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._done: list[Event | NemesisEvent] = []
        self._open: dict[int, Event] = {}
        self._part_number = 0
        self._flush_s = flush_s
        self._closing = threading.Event()
        self._guard_disk(lambda: self._parts.mkdir(parents=True, exist_ok=True))
        self._garbage_thresholds = gc.get_threshold()
        gc.set_threshold(GARBAGE_THRESHOLD)
        self._table(())  # Arrow's first table costs half a second: not while clients are timed
        self._raise_problem()
        self._writer = threading.Thread(target=self._write_on, name="recorder", daemon=True)
        self._writer.start()

    # --- hot path -------------------------------------------------------------------------------

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

    # --- writing --------------------------------------------------------------------------------

    def _write_on(self) -> None:
        while not self._closing.wait(self._flush_s):
            self._guard_disk(self.flush)
            if self.problem:
                return

    def flush(self) -> None:
        """Write what has gathered as one part, with the operations that are under way."""
        with self._writing:
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            done, self._done = self._done, []
            under_way = list(self._open.values())
        if not done:
            return
        self._part_number += 1
        number = self._part_number
        # The open set first: a part must never stand without it.
        _write(self._table(under_way), self._parts / f"open-{number:05}.parquet")
        _write(self._table(done), self._parts / f"part-{number:05}.parquet")
        (self._parts / f"open-{number - 1:05}.parquet").unlink(missing_ok=True)

    def _table(self, events: Iterable[Event | NemesisEvent]) -> pa.Table:
        builder = RowBuilder(self.run_id, self.topic_ids, self.topic_defaults)
        for event in events:
            if isinstance(event, NemesisEvent):
                builder.add_nemesis(event)
            else:
                builder.add(event)
        return builder.table()

    def close(self) -> Path:
        """Write the rest, join the parts, and return the history's file.

        Operations that never completed are written as INFO without a completion time.
        """
        self._closing.set()
        self._writer.join()
        gc.set_threshold(*self._garbage_thresholds)
        self._raise_problem()
        self._guard_disk(self.flush)
        self._raise_problem()
        with self._lock:
            never_completed = self._table(self._open.values())
        self._guard_disk(lambda: _join(self.directory, never_completed))
        self._raise_problem()
        return self.directory / HISTORY

    def _guard_disk(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            self.problem = (
                f"{self.directory}: the history cannot be written ({error.strerror or error}); "
                "free some space or name another directory with --runs"
            )
        except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
            # A client brought something that is no row: a thread must not die of it in silence.
            self.problem = f"a client's answer does not fit the history: {error!r}; report it"

    def _raise_problem(self) -> None:
        if self.problem:
            raise RecorderError(self.problem)


def recover(directory: Path) -> Path:
    """Join the parts of a run that died before it could; return the history's file.

    Such a history ends without final reads, so a judge can say INVALID or UNKNOWN, never VALID.
    """
    file = directory / HISTORY
    if file.exists():
        return file
    parts = directory / PARTS
    under_way = sorted(parts.glob("open-*.parquet"))
    numbers = {part.stem[-5:] for part in parts.glob("part-*.parquet")}
    under_way = [path for path in under_way if path.stem[-5:] in numbers]
    if not under_way:
        raise HistoryError(f"{directory}: nothing was recorded here; run the scenario again")
    _join(directory, pq.read_table(under_way[-1], schema=SCHEMA))
    return file


def _join(directory: Path, last_rows: pa.Table) -> None:
    """Join all parts and then these rows in one file, and remove the parts."""
    file = directory / HISTORY
    unfinished = file.with_suffix(".unfinished")
    with pq.ParquetWriter(unfinished, SCHEMA, **WRITING) as writer:
        waiting: list[pa.Table] = []
        rows = 0
        for part in sorted((directory / PARTS).glob("part-*.parquet")):
            waiting.append(pq.read_table(part, schema=SCHEMA))
            rows += waiting[-1].num_rows
            if rows >= ROW_GROUP_ROWS:
                writer.write_table(pa.concat_tables(waiting), row_group_size=ROW_GROUP_ROWS)
                waiting, rows = [], 0
        writer.write_table(pa.concat_tables([*waiting, last_rows]), row_group_size=ROW_GROUP_ROWS)
    _sync(unfinished)
    unfinished.replace(file)
    shutil.rmtree(directory / PARTS)


def _write(table: pa.Table, path: Path) -> None:
    """Write a file whole or not at all. It is not synced: a killed process loses nothing of the
    page cache, and the brokers under test need the disk."""
    unfinished = path.with_suffix(".unfinished")
    pq.write_table(table, unfinished, compression="zstd")
    unfinished.replace(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Overhead:
    """The cost of recording for a client: operations a second without and with it, medians of
    slices; and the same per second of this process's CPU time, which shows what a neighbour's load
    adds."""

    rate_without: float
    rate_with: float
    cpu_rate_without: float
    cpu_rate_with: float

    @property
    def share(self) -> float:
        """Return the part of the client's rate that recording takes, 0.05 for five per cent."""
        return max(0.0, 1.0 - self.rate_with / self.rate_without)


def measure_overhead(
    perform: Callable[[], tuple[Operation, Completion]],
    directory: Path,
    slice_s: float = 1.25 * FLUSH_S,
    slices: int = 6,
) -> Overhead:
    """Run the client with and without recording in turn, so that a drift strikes both alike.

    The writer thread works beside the client as in a run; what it has not written by the end of a
    slice is written at the slice's expense.
    """
    rates: dict[bool, list[float]] = {False: [], True: []}
    cpu_rates: dict[bool, list[float]] = {False: [], True: []}
    for number in range(slices * 2):
        recording = number % 2 == 1
        part = directory / f"overhead-{number}"
        recorder = HistoryRecorder(part, "overhead") if recording else None
        began, cpu_began, done = time.monotonic(), time.process_time(), 0
        while time.monotonic() < began + slice_s:
            _perform_once(perform, recorder)
            done += 1
        if recorder is not None:
            recorder.flush()
        rates[recording].append(done / (time.monotonic() - began))
        cpu_rates[recording].append(done / (time.process_time() - cpu_began))
        if recorder is not None:
            recorder.close()
    return Overhead(
        median(rates[False]), median(rates[True]), median(cpu_rates[False]), median(cpu_rates[True])
    )


def _perform_once(
    perform: Callable[[], tuple[Operation, Completion]], recorder: HistoryRecorder | None
) -> None:
    if recorder is None:
        perform()
        return
    op_id, invoked = recorder.next_op_id(), time.monotonic_ns()
    context = {"session": 0, "client": "overhead"}
    recorder.invoked(op_id, 0, Poll(), invoked, context)
    operation, completion = perform()
    recorder.record(op_id, 0, operation, completion, invoked, time.monotonic_ns(), context)
