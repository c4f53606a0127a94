"""Find the fewest operations and records of a history that still show one anomaly.

Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002:
ddmin): pieces are left out as long as the checker still reports the same anomaly (kind, place and
sentence) in the rest. So a smaller history cannot show another anomaly instead. The search begins
with the operations that the anomaly names; if they do not show it alone, it begins with more of the
history around them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import polars as pl

from linearizability.bounds import NOTHING_STATED, Bounds
from linearizability.checkers.base import COLUMNS_READ
from linearizability.engine import local
from linearizability.history import F
from linearizability.stories.mentions import numbers_in
from linearizability.verdict import Anomaly

ROWS_MAX = 200_000
"""The most rows of a part of a history that is searched."""
SECONDS_MAX = 10.0

Piece = TypeVar("Piece")


@dataclass(frozen=True)
class Shrunk:
    """An anomaly, and the part of the history that still shows it. is_minimal: whether nothing more
    can be left out; if not, the time was up."""

    anomaly: Anomaly
    rows: pl.DataFrame
    is_minimal: bool

    @property
    def operations(self) -> list[int]:
        return self.rows["op_id"].unique().sort().to_list()


def shrink(
    history: pl.LazyFrame,
    checker: str,
    anomaly: Anomaly,
    *,
    seconds_max: float = SECONDS_MAX,
    bounds: Bounds = NOTHING_STATED,
) -> Shrunk | None:
    """Return the anomaly in the smallest history found within seconds_max that shows it, or None if
    no part of the history of up to ROWS_MAX rows shows it. The time limit does not interrupt a run
    of the checker. bounds: those with which the anomaly was found."""
    until = time.monotonic() + seconds_max
    columns = history.select(COLUMNS_READ)

    def shows(rows: pl.DataFrame) -> bool:
        (opinion,) = local.run(rows.lazy(), [checker], bounds)
        return any(is_same(found, anomaly) for found in opinion.anomalies)

    for rows in _parts(columns, anomaly):
        if rows.height <= ROWS_MAX and shows(rows):
            break
    else:
        return None
    operations = rows["op_id"].unique().sort().to_list()
    kept, all_tried = ddmin(
        operations, lambda some: shows(rows.filter(pl.col("op_id").is_in(some))), until
    )
    rows = rows.filter(pl.col("op_id").is_in(kept))
    if shows(named := _named_rows(rows, anomaly)):
        rows = named  # few records of a long read matter: those that the sentence names
    numbers, rows_tried = ddmin(range(rows.height), lambda some: shows(rows[list(some)]), until)
    return Shrunk(anomaly, rows[list(numbers)], all_tried and rows_tried)


def _named_rows(rows: pl.DataFrame, anomaly: Anomaly) -> pl.DataFrame:
    """Return the rows without the records that the anomaly's sentence does not name."""
    numbers = [number for some in numbers_in(anomaly.message) for number in some]
    is_named = pl.col("value").is_in(numbers) | pl.col("offset").is_in(numbers)
    is_record = (pl.col("f") == F.POLL.value) & pl.col("offset").is_not_null()
    return rows.filter(~is_record | is_named.fill_null(False))


def is_same(found: Anomaly, anomaly: Anomaly) -> bool:
    """Return whether both anomalies have the same kind, place and sentence; their operations may
    differ."""
    return (found.kind, found.message, dict(found.scope)) == (
        anomaly.kind,
        anomaly.message,
        dict(anomaly.scope),
    )


def _parts(history: pl.LazyFrame, anomaly: Anomaly) -> Iterator[pl.DataFrame]:
    """Yield parts of the history to shrink, each larger than the one before: the anomaly's
    operations, those with their transactions, those with all operations on their values or
    partition, then everything (the last three cut to ROWS_MAX + 1 rows)."""
    named = pl.col("op_id").is_in(anomaly.operations)
    first = history.filter(named).collect()
    yield first
    txns = first["txn"].drop_nulls().unique().to_list()
    values = first["value"].drop_nulls().unique().to_list()
    of_txns = history.filter(named | pl.col("txn").is_in(txns)).collect()
    yield of_txns
    of_values = history.filter(pl.col("value").is_in(values)).select("op_id", "txn").collect()
    around = pl.col("op_id").is_in([*anomaly.operations, *of_values["op_id"].to_list()])
    more = [*txns, *of_values["txn"].drop_nulls().to_list()]
    yield history.filter(around | pl.col("txn").is_in(more)).head(ROWS_MAX + 1).collect()
    if (topic := anomaly.scope.get("topic")) is not None:
        here = pl.col("topic") == topic
        if (partition := anomaly.scope.get("partition")) is not None:
            here &= pl.col("partition") == partition
        near = pl.col("topic").is_null() | here | around
        yield history.filter(near).head(ROWS_MAX + 1).collect()
    yield history.head(ROWS_MAX + 1).collect()


def ddmin(
    pieces: Sequence[Piece], shows: Callable[[Sequence[Piece]], bool], until: float
) -> tuple[Sequence[Piece], bool]:
    """Return (a part of the pieces from which none can be left out, True), or (the part reached at
    the time `until` of time.monotonic, False). `shows` tells whether a part still shows what all
    pieces show."""
    parts = 2
    while len(pieces) > 1:
        size = -(-len(pieces) // parts)
        for start in range(0, len(pieces), size):
            if time.monotonic() > until:
                return pieces, False
            rest = [*pieces[:start], *pieces[start + size :]]
            if rest and shows(rest):
                pieces, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(pieces))
    return pieces, True
