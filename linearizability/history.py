"""The history: the operations of clients, their results, and their times, in one documented Parquet
file.

One row per (operation, record): a send of three records is three rows with one `op_id`; a poll that
returned nothing is one row without an offset. Completion `type`: **ok** happened, **fail**
certainly did not happen, **info** nobody knows ("when in doubt, info"). Nemesis events are rows of
the same file (f = "nemesis"). All times come from one monotonic clock per run.

Whether records of a topic may be removed follows from the settings in the topic's own row. Only
`compaction` and `retention` judge such topics; every other judge excuses the removals that their
settings allow. The history of such a topic must contain further facts:
- compacted (cleanup.policy names compact): every send, poll and raw read has the `key`, and
  `tombstone` where the value was null. A tombstone has a `value` like any record, which its client
  puts into a header. A send of unknown outcome has its key and tombstone, too.
- retained (cleanup.policy names delete, with a retention.ms or retention.bytes): every answer has
  its `log_start`; a send that sets a record's time has `timestamp_ms`.
- a delete_records row is fail only if nothing was deleted, and info if that is not known.

Since version 2 a history also contains what had to be inferred before. Each of these may be absent:
- where a reader begins: `position` rows, one per partition, whenever positions are set (assign,
  seek, a partition received from the group), as a part of the session that begins there;
- what a group's member owns: `owned` rows, one per partition after each rebalance that its client
  reports, or one without a partition where it owns nothing;
- what a producer is: `init_producer` rows, with the id and epoch that InitProducerId answered;
- the offsets of transactions: `send_offsets` rows, one per partition (TxnOffsetCommit);
- what a record is: `checksum`, on every row that speaks of a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os.path import isdir
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from linearizability.errors import HistoryError
from linearizability.files import parquet
from linearizability.files.sound_rows import check_rows
from linearizability.files.unreadable import require_regular, shown
from linearizability.schema import (
    COLUMNS,
    NO_GENERATION,
    PARTITION,
    REQUIRED,
    ROW_GROUP_ROWS,
    SCHEMA,
    SCHEMA_VERSION,
    SINCE_2,
    F,
    Type,
    arrow_schema,
    plain_arrow,
)

__all__ = [
    "COLUMNS",
    "NO_GENERATION",
    "PARTITION",
    "REQUIRED",
    "ROW_GROUP_ROWS",
    "SCHEMA",
    "SCHEMA_VERSION",
    "SINCE_2",
    "F",
    "HistoryError",
    "Type",
    "arrow_schema",
    "frame",
    "history_file",
    "rows_in",
    "scan",
    "write",
]


def frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return a history from plain rows (for tests and small tools). Columns that a row leaves out
    are null, except schema_version, op_id (the row's number), record_index, process, session,
    final, type (ok) and the times (10 ns apart), which have defaults. Raise HistoryError for an
    unknown column."""
    filled = []
    for number, row in enumerate(rows):
        if unknown := set(row) - set(SCHEMA):
            raise HistoryError(f"row {number} has no such column: {', '.join(sorted(unknown))}")
        defaults = {
            "schema_version": SCHEMA_VERSION,
            "op_id": number,
            "record_index": 0,
            "process": 0,
            "session": 0,
            "final": False,
            "type": Type.OK.value,
            "t_invoke_ns": number * 10,
            "t_complete_ns": number * 10 + 5,
        }
        filled.append(defaults | dict(row))
    return pl.DataFrame(filled, schema=SCHEMA, orient="row")


def write(path: Path, history: pl.DataFrame) -> None:
    """Write a whole history to this file at once, replacing it; columns outside SCHEMA are left
    out. (The recorder writes it in parts; this function is for tools and tests.)"""
    table = history.select(list(SCHEMA)).cast(SCHEMA).to_arrow().cast(plain_arrow())
    pq.write_table(table, path, row_group_size=ROW_GROUP_ROWS, **parquet.WRITING)


def history_file(path: Path) -> Path:
    """Return the Parquet file of a run directory, or the file itself. Raise HistoryError if there
    is none."""
    file = path / "history.parquet" if isdir(path) else path
    require_regular(file)
    return file


def rows_in(path: Path) -> int:
    """Return the row count of the history under `path`. Raise HistoryError if there is none, or if
    its file is not complete."""
    return parquet.rows_in(history_file(path))


def scan(path: Path) -> pl.LazyFrame:
    """Return the history under `path`, checked: every page of the file, its columns, its rows.

    Raise HistoryError naming what is wrong. Columns that the file lacks are null, and unknown ones
    are left out.
    """
    file = history_file(path)
    found, count = parquet.verified(file)
    _check_columns(file, found)
    # Statistics are not covered by checksums: what they say may not decide which rows are read.
    lazy = pl.scan_parquet(file, use_statistics=False)
    missing = [name for name in SCHEMA if name not in found.names]
    lazy = lazy.with_columns(pl.lit(None, dtype=SCHEMA[name]).alias(name) for name in missing)
    lazy = lazy.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
    empty = parquet.empty_columns(file)
    if empty is None:
        empty = check_rows(file, lazy, count)
        parquet.remember_rows(file, empty)
    # A constant takes no memory, wherever its rows are copied to.
    return lazy.with_columns(pl.lit(None, dtype=SCHEMA[name]).alias(name) for name in empty)


def _check_columns(file: Path, found: pa.Schema) -> None:
    for name in REQUIRED:
        if name not in found.names:
            raise HistoryError(f"{file}: column {name!r} is missing; this is not a history")
    plain = plain_arrow()
    unknown = [name for name in found.names if name not in SCHEMA]
    is_version_1 = not any(name in found.names for name in SINCE_2)
    missing = [n for n in SCHEMA if n not in found.names and not (is_version_1 and n in SINCE_2)]
    if unknown and missing:
        raise HistoryError(
            f"{file}: column {shown(unknown[0])} is not known, and {missing[0]!r} is missing; "
            f"rename it to {missing[0]!r} if that is what it holds, or remove it"
        )
    for name in found.names:
        if name not in SCHEMA:
            continue
        if found.names.count(name) > 1:
            raise HistoryError(f"{file}: column {name!r} is there twice; write it once")
        given, wanted = found.field(name).type, plain.field(name).type
        if not pa.types.is_null(given) and _kind(given) != _kind(wanted):
            raise HistoryError(f"{file}: column {name!r} is {given}, must be {wanted}")


def _kind(dtype: pa.DataType) -> str:
    """Return the kind of a column type. Types of one kind can be cast to each other; a number that
    does not fit is refused when the rows are read."""
    if pa.types.is_dictionary(dtype):
        return _kind(dtype.value_type)
    if pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or dtype == pa.string_view():
        return "text"
    return "integer" if pa.types.is_integer(dtype) else str(dtype)
