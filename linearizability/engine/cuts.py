"""Cut a partition too large for one executor into pieces, for the rules that allow it. Each rule
names a column (`Checker.cut`). It never compares rows with different values in that column, so a
piece contains everything that it needs to judge its rows. Each row goes to one piece for each kind
of cut. The counts of a rule over all pieces are added. The needs that occur in the history
(`Needs`) are counted on the whole partition, which is also given to the rules that cannot be
cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from zlib import crc32

import polars as pl

from linearizability.checkers.base import Cut
from linearizability.checkers.table import CHECKERS
from linearizability.engine.exchange import Whereabouts, remainder
from linearizability.history import PARTITION
from linearizability.reads.contents import FIELDS

COLUMNS = ("f", "op_id", "process", "group", "offset", "value", "producer_id")
"""The columns that decide to which pieces a row belongs."""

_OF_ANY = (*PARTITION, "op_id", "record_index", "txn", "f", "replica", "offset")
COLUMNS_CUT: Mapping[Cut, tuple[str, ...]] = {
    Cut.VALUE: (
        *_OF_ANY,
        "isolation",
        "acks",
        "idempotent",
        "type",
        "control",
        "value",
        "producer_id",
        "producer_epoch",
        "sequence",
        "t_complete_ns",
        "high_watermark",
    ),
    Cut.OFFSET: (*_OF_ANY, "acks", "type", "control", "value", "high_watermark", *FIELDS),
    Cut.PROCESS: (*_OF_ANY, "process", "session", "isolation", "type", "value"),
    Cut.GROUP: (
        *_OF_ANY,
        "asked",
        "asked_offset",
        "error",
        "group",
        "member_id",
        "type",
        "final",
        "control",
        "value",
        "t_invoke_ns",
        "t_complete_ns",
        "generation",
        "settings",
        "detail",
        "longest_ns",
    ),
    Cut.OPERATION: (
        *_OF_ANY,
        "client",
        "idempotent",
        "error",
        "type",
        "control",
        "value",
        "producer_id",
        "producer_epoch",
        "sequence",
        "t_complete_ns",
        "high_watermark",
    ),
}
"""Cut -> the columns of its pieces: those that the rules with this cut and `ingest` read. A rule
that reads another column cannot finish (`unknown`); a test tries each rule."""

_FIRST = 2
"""The number of the first kind of cut. Buckets from 0 hold partitions, the next `count` buckets
values, and each kind of cut has `count` buckets after those (see `Whereabouts`)."""


def cut_by(checkers: Sequence[str], cut: Cut | None) -> list[str]:
    """Return the checkers that cut large partitions by this column, or for None those that never
    cut them."""
    return [name for name in checkers if CHECKERS[name].cut is cut]


def pieces(where: Whereabouts, rows: pl.DataFrame) -> Iterator[tuple[Cut, pl.DataFrame]]:
    """Yield (cut, rows) for each kind of cut: its rows of large partitions, with the number of
    their piece in the column `bucket`. Yield nothing if there are none. rows must have the columns
    that `Whereabouts.with_buckets` adds."""
    large = rows.filter("is_large").drop("is_large")
    if large.is_empty():
        return
    for number, cut in enumerate(Cut, _FIRST):
        found = large.filter(cut.rows)
        yield cut, found.with_columns(bucket=_piece(found, cut, where.count) + number * where.count)


def _piece(rows: pl.DataFrame, cut: Cut, count: int) -> pl.Expr:
    """Return the number of the piece that each row belongs to, the same on every machine. count:
    how many pieces there are."""
    if cut is not Cut.GROUP:
        return remainder(cut.value, count)
    groups = rows["group"].unique().to_list()
    numbers = {group: crc32(group.encode()) % count for group in groups}
    return pl.col("group").replace_strict(numbers, default=0, return_dtype=pl.Int32)
