"""The local engine: every checker over the whole history at once, by polars, in this process."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from linearizability.bounds import NOTHING_STATED, Bounds
from linearizability.checkers.base import COLUMNS_READ, Scope
from linearizability.checkers.table import CHECKERS
from linearizability.engine.opinion import absent_from, frame_of, judge, opinions
from linearizability.ingest import resolved
from linearizability.plans import for_rows, sharing, whole
from linearizability.verdict import CheckerVerdict

NAME = "local (polars)"


def run(
    history: pl.LazyFrame, checkers: Sequence[str] | None = None, bounds: Bounds = NOTHING_STATED
) -> list[CheckerVerdict]:
    """Return each checker's opinion on a history that fits into memory, for all checkers by
    default. A checker that fails is UNKNOWN; all are if what they share (the outcomes of
    transactions, the evidence) cannot be collected."""
    names = tuple(CHECKERS) if checkers is None else checkers
    with for_rows(history.select(pl.len()).collect().item()):
        try:
            return _run(history, names, bounds)
        except (pl.exceptions.PolarsError, MemoryError) as error:
            failed = f"the history could not be judged ({type(error).__name__}: {error})"
            return opinions(judge(_nothing().lazy(), Scope.PARTITION, ()), names, failed)


def _run(history: pl.LazyFrame, checkers: Sequence[str], bounds: Bounds) -> list[CheckerVerdict]:
    events = whole(resolved(history.select(COLUMNS_READ)))
    absent = absent_from(events)
    pieces = []
    wanted = {Scope.PARTITION, *(CHECKERS[name].scope for name in checkers)}
    with sharing():
        for scope in filter(wanted.__contains__, Scope):  # partitions also show absent needs
            if scope is not Scope.RUN:
                pieces.append(judge(frame_of(events, scope, bounds), scope, checkers, absent))
    if Scope.RUN in wanted:  # last, and alone: the search for cycles takes much memory
        rows = frame_of(events, Scope.RUN, bounds)
        del events
        pieces.append(judge(rows, Scope.RUN, checkers, absent))
    return opinions(pl.concat(pieces), checkers)


def _nothing() -> pl.DataFrame:
    from linearizability.history import SCHEMA

    return pl.DataFrame(schema=SCHEMA).with_columns(outcome=pl.lit(None, dtype=pl.String))
