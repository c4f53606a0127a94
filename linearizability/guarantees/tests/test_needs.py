"""A need never hides an anomaly: without its rows, a checker finds nothing."""

from __future__ import annotations

import polars as pl
import pytest

from linearizability.checkers.base import COLUMNS_READ, Needs
from linearizability.checkers.table import CHECKERS
from linearizability.engine.opinion import absent_from, anomalies_of
from linearizability.hand_written.histories import INVALID
from linearizability.history import REQUIRED, frame
from linearizability.ingest import resolved
from linearizability.self_test.model.histories import joined

ALWAYS_THERE = frozenset({*REQUIRED, "topic", "offset"})


@pytest.mark.parametrize(
    ("name", "need"),
    [(name, need) for name in INVALID for need in Needs if need in CHECKERS[name].needs],
    ids=lambda part: getattr(part, "name", part),
)
def test_without_the_need_nothing_is_found(name: str, need: Needs) -> None:
    """Take the rows away, and empty the columns by which they are known, one by one."""
    histories = [list(frame(rows).iter_rows(named=True)) for rows, _ in INVALID[name].values()]
    every = joined(histories)
    assert anomalies(name, every).height
    columns = sorted(set(need.rows.meta.root_names()) - ALWAYS_THERE)
    lesser = [every.filter(~need.rows.fill_null(False))]
    lesser += [every.with_columns(pl.lit(None, every.schema[c]).alias(c)) for c in columns]
    for history in lesser:
        if need in absent_from(history):
            assert anomalies(name, history).is_empty()


def anomalies(name: str, history: pl.DataFrame) -> pl.DataFrame:
    """Return the kernel's anomalies, even if the history lacks something that it needs."""
    return anomalies_of(CHECKERS[name], resolved(history.lazy().select(COLUMNS_READ)))
