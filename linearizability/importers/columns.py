"""The data of an import so far, kept as columns of numbers, since Python objects would take a
hundred times the memory.

Operations and places are numbered in the order of their appearance.
"""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from linearizability.history import F

POLL, ASSIGN, READ_ALL, NEMESIS, POSITION = range(5)
"""The positions in `Collected.FS`."""
NONE = -1
"""The number that stands for null, since no time, offset, place or transaction is below zero."""
OK, FAIL, INFO = 0, 1, 2
"""The numbers that stand for `history.Type` in operations."""


class Columns:
    """Rows of integers, kept in one array, so that adding a row is one cheap call."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self._cells = array("q")
        self.add = self._cells.extend
        """Add a row: a tuple with a number for each name."""

    def extend(self, *columns: npt.NDArray[np.int64] | int) -> None:
        """Add rows, given as a column, or one number for all rows, for each name."""
        self._cells.frombytes(np.column_stack(np.broadcast_arrays(*columns)).tobytes())

    def __len__(self) -> int:
        return len(self._cells) // len(self.names)

    def frame(self) -> pl.DataFrame:
        """Return the rows. No row may be added afterwards."""
        cells, step = series(self._cells), len(self.names)
        return pl.DataFrame(
            {name: cells.gather_every(step, offset=n) for n, name in enumerate(self.names)}
        )


def series(numbers: array[int]) -> pl.Series:
    """Return the array as a polars column that shares its memory. While the column exists, the
    array cannot grow."""
    column = pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])
    return pl.Series(pl.from_arrow(column))


class Collected:
    """The columns of one history.

    operations: `member` says whether the process was subscribed at that time; `txn` is the
        transaction that its polls are in.
    transactions: in the form that our judges take; `records` is how many rows its operation has
        before the row of its end. A plain send to several keys is a transaction for each record.
    batches: `count` records of one key in one poll; `first` is the number of the first of them
        within its operation; `pairs` has the offset and value of each.
    others: rows without a record; `f` is the position in FS.
    `line` is the line of the file.
    """

    FS = (F.POLL.value, F.ASSIGN.value, F.READ_ALL.value, F.NEMESIS.value, F.POSITION.value)

    def __init__(self) -> None:
        self.operations = Columns(
            "op_id",
            "process",
            "type",
            "final",
            "member",
            "txn",
            "t_invoke_ns",
            "t_complete_ns",
            "line",
        )
        self.transactions = Columns("operation", "txn", "records")
        self.sends = Columns("operation", "record_index", "transaction", "place", "value", "offset")
        self.batches = Columns("operation", "first", "count", "session", "place")
        self.pairs: array[int] = array("q")
        self.others = Columns("operation", "record_index", "f", "place", "session")
        self.details: dict[int, str] = {}
        """Operation -> the fault as JSON, for operations of the nemesis."""
