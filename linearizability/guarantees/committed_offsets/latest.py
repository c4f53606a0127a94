"""The one join of this rule: a row with the largest value that its group had shown before."""

from __future__ import annotations

import polars as pl

from linearizability.ingest import KEY

OF_GROUP = [*KEY, "group"]


def with_largest(
    rows: pl.LazyFrame,
    at: str,
    shown: pl.LazyFrame,
    value: str,
    beside: tuple[str, ...] = (),
    *,
    is_strict: bool = True,
) -> pl.LazyFrame:
    """Return the rows sorted by their time `at`, each with the largest `value` that its group had
    shown for its partition before that time (or at that time, unless is_strict), and with the
    columns `beside` of the first to show it. All of these are null if the group had shown none.
    shown: sorted by since_ns, the time from which on a value counts."""
    so_far = pl.col("so_far")
    is_first = (pl.col(value) > so_far.shift(1).over(OF_GROUP)).fill_null(True)
    largest = shown.with_columns(so_far=pl.col(value).cum_max().over(OF_GROUP)).select(
        *OF_GROUP,
        "since_ns",
        so_far.alias(value),
        *(pl.when(is_first).then(name).forward_fill().over(OF_GROUP) for name in beside),
    )
    found = rows.sort(at).join_asof(
        largest,
        left_on=at,
        right_on="since_ns",
        by=OF_GROUP,
        strategy="backward",
        allow_exact_matches=not is_strict,
        check_sortedness=False,
    )
    return found.drop("since_ns")
