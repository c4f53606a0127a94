"""The rows of an imported history, kept as columns: millions of records are polled, few are sent.

Whatever belongs to a whole operation is kept once (`Shared`); what was polled of one key at one
time is one batch. They become rows together, in polars.
"""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from linearizability.history import SCHEMA, SCHEMA_VERSION, F
from linearizability.importers.micro import Poll
from linearizability.inferred_log import READ_COMMITTED


class Shared(NamedTuple):
    """What all rows of an operation have in common."""

    op_id: int
    process: int | None
    type: str
    final: bool
    t_invoke_ns: int
    t_complete_ns: int | None
    group: str | None
    txn: int | None


class Row(NamedTuple):
    """What one row has for itself; a null `type` or `t_invoke_ns` is its operation's."""

    operation: int
    record_index: int
    f: str
    topic: str | None = None
    partition: int | None = None
    type: str | None = None
    t_invoke_ns: int | None = None
    session: int = 0
    member_id: str | None = None
    isolation: str | None = None
    acks: int | None = None
    idempotent: bool | None = None
    offset: int | None = None
    value: int | None = None
    detail: str | None = None


class _Batch(NamedTuple):
    """Records polled of one key: the columns of Row that they share."""

    operation: int
    records: int
    number_shift: int
    """A record's index, less its number among all polled records."""
    session: int
    member_id: str | None
    topic: str
    partition: int


_OWN = {name: pl.Int64 if name == "operation" else SCHEMA[name] for name in Row._fields}
_BATCH: dict[str, Any] = {
    "operation": pl.Int64, "records": pl.Int64, "number_shift": pl.Int64,
    "session": SCHEMA["session"], "member_id": pl.String, "topic": pl.String,
    "partition": SCHEMA["partition"],
}  # fmt: skip


class Rows:
    """A history on its way."""

    def __init__(self) -> None:
        self._shared: list[Shared] = []
        self._rows: list[Row] = []
        self._batches: list[_Batch] = []
        self._offsets, self._values = array("q"), array("q")

    def begin(self, shared: Shared) -> int:
        """The number of a new operation, for its rows."""
        self._shared.append(shared)
        return len(self._shared) - 1

    def begin_again(self, operation: int, t_complete_ns: int | None) -> int:
        """The number for those rows of an operation that ended at another time, or never."""
        return self.begin(self._shared[operation]._replace(t_complete_ns=t_complete_ns))

    def add(self, row: Row) -> None:
        self._rows.append(row)

    def add_polled(
        self, operation: int, first: int, session: int, member_id: str | None, polled: Poll
    ) -> None:
        """first: the index of the first record within its operation."""
        batch = _Batch(
            operation, len(polled.offsets), first - len(self._offsets), session, member_id,
            *polled.place,
        )  # fmt: skip
        self._batches.append(batch)
        self._offsets.extend(polled.offsets)
        self._values.extend(polled.values)

    def frame(self, client: str) -> pl.DataFrame:
        """The history, in order of operations and records."""
        shared = pl.DataFrame(
            self._shared, schema={name: SCHEMA[name] for name in Shared._fields}, orient="row"
        )
        own = pl.DataFrame(self._rows, schema=_OWN, orient="row")
        rows = pl.concat([own, self._polled()], how="diagonal")
        ours = shared.drop("type", "t_invoke_ns").lazy()
        theirs = shared.select(of_type="type", of_invoke="t_invoke_ns").lazy()
        whole = pl.concat([ours, theirs], how="horizontal").with_row_index("operation")
        constants: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "client": client}
        made = (
            rows.lazy()
            .join(
                whole.with_columns(pl.col("operation").cast(pl.Int64)),
                on="operation",
                maintain_order="left",
            )
            .with_columns(
                type=pl.coalesce("type", "of_type"),
                t_invoke_ns=pl.coalesce("t_invoke_ns", "of_invoke"),
                **{name: pl.lit(value) for name, value in constants.items()},
            )
            .sort("op_id", "record_index", maintain_order=True)
            .collect()
        )
        return made.select(
            (pl.col(name) if name in made.columns else pl.lit(None)).cast(dtype).alias(name)
            for name, dtype in SCHEMA.items()
        )

    def _polled(self) -> pl.DataFrame:
        """The rows of all batches."""
        batches = pl.DataFrame(self._batches, schema=_BATCH, orient="row").lazy()
        numbers = pl.int_range(pl.len(), dtype=pl.Int64)
        return (
            batches.select(pl.exclude("records").repeat_by("records"))
            .explode(*_BATCH.keys() - {"records"})
            .with_columns(
                record_index=(pl.col("number_shift") + numbers).cast(SCHEMA["record_index"]),
                f=pl.lit(F.POLL.value),
                isolation=pl.lit(READ_COMMITTED),
                offset=_series(self._offsets),
                value=_series(self._values),
            )
            .drop("number_shift")
            .collect()
        )


def _series(numbers: array[int]) -> pl.Series:
    """The same memory as a column."""
    column = pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])
    return pl.Series(pl.from_arrow(column))
