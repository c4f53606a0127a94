"""Record the history during the run in parts, which remain if the run is killed.

A client's thread appends one tuple to a list (chaos.record.gathering). A writer thread turns the
tuples into Arrow tables and writes them as `history.parts/part-00001.parquet` and so on; a file
gets its name when it is complete. `close()` joins the parts into `history.parquet`; `recover()`
does the same for a run that died.

A send begins long before it completes, and other clients may read its values meanwhile. So each
part has a file `open-00001.parquet` with the operations in progress at the same moment, as INFO.
Both are taken under one lock. So every value that a poll in the parts has read was sent by an
operation in the parts or in the newest open file.
"""

from __future__ import annotations

import gc
import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq

from chaos.record.gathering import HISTORY, Gathering
from chaos.record.rows import SCHEMA
from chaos.values.protocols import Completion, Operation, Poll
from linearizability.files.parquet import WRITING
from linearizability.history import ROW_GROUP_ROWS, HistoryError

GARBAGE_THRESHOLD = 50_000
"""The number of new objects that starts Python's cycle collector. With the default of 700 it would
run all the time, since the tuples that wait to be written are not garbage; it took three quarters
of the time that recording costs the clients."""

FLUSH_S = 2.0
"""The seconds between two parts: a killed run loses no more than that."""

PARTS = "history.parts"


class RecorderError(RuntimeError):
    """Raised if the history cannot be written. The message is one sentence with what to do."""


class HistoryRecorder(Gathering):
    """Records the history of a run in its directory, as the module describes. Its methods are
    thread-safe. Making one starts the writer thread and makes Python's cycle collector run less
    often, until `close`; it raises RecorderError if the directory cannot be written."""

    def __init__(self, directory: Path, run_id: str, flush_s: float = FLUSH_S) -> None:
        super().__init__(run_id, threading.Lock())
        self.directory = directory
        self.problem: str | None = None
        """The reason why the history can no longer be written, or None."""
        self._parts = directory / PARTS
        self._writing = threading.Lock()
        self._part_number = 0
        self._flush_s = flush_s
        self._closing = threading.Event()
        self._guard_disk(lambda: self._parts.mkdir(parents=True, exist_ok=True))
        self._garbage_thresholds = gc.get_threshold()
        gc.set_threshold(GARBAGE_THRESHOLD)
        self.table_of(())  # Arrow's first table takes half a second: make it before the run
        self._raise_problem()
        self._writer = threading.Thread(target=self._write_on, name="recorder", daemon=True)
        self._writer.start()

    # --- writing --------------------------------------------------------------------------------

    def _write_on(self) -> None:
        while not self._closing.wait(self._flush_s):
            self._guard_disk(self.flush)
            if self.problem:
                return

    def flush(self) -> None:
        """Write the events since the last part as a new part, with the operations in progress.
        Write nothing if there are no such events. Raise OSError if the disk fails; those events are
        then lost."""
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
        # Write the open operations first: a part must never exist without them.
        _write(self.table_of(under_way), self._parts / f"open-{number:05}.parquet")
        _write(self.table_of(done), self._parts / f"part-{number:05}.parquet")
        (self._parts / f"open-{number - 1:05}.parquet").unlink(missing_ok=True)

    def close(self) -> Path:
        """End the writer thread, write the remaining events, join the parts, and return the
        history's file. Raise RecorderError if that fails, or if a part could not be written before.

        Operations that never completed are written as INFO without a completion time.
        """
        self._closing.set()
        self._writer.join()
        gc.set_threshold(*self._garbage_thresholds)
        self._raise_problem()
        self._guard_disk(self.flush)
        self._raise_problem()
        with self._lock:
            never_completed = self.table_of(self._open.values())
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
            # A client returned something that is no row; this thread must not end without a report.
            self.problem = f"a client's answer does not fit the history: {error!r}; report it"

    def _raise_problem(self) -> None:
        if self.problem:
            raise RecorderError(self.problem)


def recover(directory: Path) -> Path:
    """Join the parts of a run that was killed, unless they are joined already, and return the
    history's file. Raise HistoryError if nothing was recorded.

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
    """Join all parts, followed by these rows, in one file, and remove the parts."""
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
    """Write a file, either completely or not at all. It is not synced: the page cache survives the
    end of a process, and the brokers under test need the disk."""
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
    """The cost of recording for a client: operations per second without and with recording, as
    medians of time slices; and the same per second of this process's CPU time, which other load on
    the machine does not distort."""

    rate_without: float
    rate_with: float
    cpu_rate_without: float
    cpu_rate_with: float

    @property
    def share(self) -> float:
        """The part of the client's rate that recording costs: 0.05 for five per cent."""
        return max(0.0, 1.0 - self.rate_with / self.rate_without)


def measure_overhead(
    perform: Callable[[], tuple[Operation, Completion]],
    directory: Path,
    slice_s: float = 1.25 * FLUSH_S,
    slices: int = 6,
) -> Overhead:
    """Run the client with and without recording in turn, so that a drift affects both alike. Return
    what recording costs. The histories remain in `directory`. slices: how many of slice_s seconds
    there are of each kind.

    The writer thread works beside the client as in a run. The time to write what is left at the end
    of a slice is added to the slice.
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
