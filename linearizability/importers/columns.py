"""What an import has found so far, kept as columns of numbers: an operation in Python takes a
hundred times the memory.

Operations and places are referred to by their numbers, in the order in which they came.
"""

from __future__ import annotations

from array import array

import polars as pl
import pyarrow as pa

from linearizability.history import F

NONE = -1
"""Stands for null: no time, offset, place or transaction is below zero."""
OK, FAIL, INFO = 0, 1, 2
"""Numbers of `history.Type`, as operations have them."""

_TYPES = {"b": pa.int8(), "i": pa.int32(), "q": pa.int64()}


class Columns:
    """Rows of numbers, added one at a time; `codes`: the type of each column, as `array` has it."""

    def __init__(self, **codes: str) -> None:
        self._arrays = {name: array(code) for name, code in codes.items()}
        self._appends = [column.append for column in self._arrays.values()]

    def __len__(self) -> int:
        return len(next(iter(self._arrays.values())))

    def add(self, *numbers: int) -> int:
        """Add a row; return its number."""
        for append, number in zip(self._appends, numbers, strict=True):
            append(number)
        return len(self) - 1

    def column(self, name: str) -> array[int]:
        return self._arrays[name]

    def frame(self) -> pl.DataFrame:
        """Return the rows: the same memory, of which nothing may be added afterwards."""
        return pl.DataFrame({name: series(column) for name, column in self._arrays.items()})


def series(numbers: array[int]) -> pl.Series:
    """Return the same memory as a column."""
    dtype = _TYPES[numbers.typecode]
    column = pa.Array.from_buffers(dtype, len(numbers), [None, pa.py_buffer(numbers)])
    return pl.Series(pl.from_arrow(column))


class Collected:
    """The columns of one history.

    operations: `member` says whether the process was subscribed then; `txn` is the transaction that
        its polls are in.
    transactions: as our judges see them; `records` is how many rows its operation has before the
        row of its end. A plain send to several keys is a transaction for each record.
    batches: `count` records that were polled of one key at one time, the first of them the
        `first` of its operation; `pairs` holds offset and value of each.
    others: rows without a record; `f` is the position in FS.
    `line` says where a row stands in the file.
    """

    FS = (F.POLL.value, F.ASSIGN.value, F.READ_ALL.value, F.NEMESIS.value)

    def __init__(self) -> None:
        self.operations = Columns(
            op_id="q", process="i", type="b", final="b", member="b", txn="q", t_invoke_ns="q",
            t_complete_ns="q",
        )  # fmt: skip
        self.transactions = Columns(operation="i", txn="q", records="i")
        self.sends = Columns(
            operation="i", record_index="i", transaction="i", place="i", value="q", offset="q",
            line="q",
        )  # fmt: skip
        self.batches = Columns(
            operation="i", first="i", count="i", session="q", place="i", line="q"
        )
        self.pairs: array[int] = array("q")
        self.others = Columns(operation="i", record_index="i", f="b", place="i")
        self.details: dict[int, str] = {}
        """JSON of the operations that are faults."""

    def polled(self) -> pl.DataFrame:
        """Return `batch`, `offset` and `value` of each record that was polled."""
        counts = series(self.batches.column("count"))
        batch = pl.select(
            batch=pl.int_range(len(counts), dtype=pl.Int32).repeat_by(counts).explode()
        )
        pairs = series(self.pairs)
        offset, value = pairs.gather_every(2), pairs.gather_every(2, offset=1)
        return batch.drop_nulls().with_columns(offset=offset, value=value)
