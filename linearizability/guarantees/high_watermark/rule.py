"""A leader's high watermark, last stable offset and log start never go back within its epoch."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import IS_LEADER_ANSWER, Checker, Needs, Scope, count, describe
from linearizability.ingest import KEY
from linearizability.reads.raw_reads import IS_RAW

BEYOND = "beyond-the-high-watermark"
LEVELS = {
    "high-watermark-goes-back": ("high_watermark", "high_watermark"),
    "last-stable-offset-goes-back": ("last_stable_offset", "last_stable_offset"),
    "log-start-goes-back": ("log_start", "log_start"),
    BEYOND: ("reach", "high_watermark"),
}
"""Kind of anomaly -> the column of an answer, and the column that no later answer may have a lower
value in."""

LEADER = [*KEY, "leader_epoch", "kind"]


class HighWatermark(Checker):
    """A leader's answer has a lower high watermark, last stable offset or log start than an answer
    of the same epoch that had arrived before the request was sent. Or the leader delivered a
    record, or named a last stable offset, beyond the high watermark of a later answer (within the
    same answer that is allowed, since the leader reads the high watermark first).

    A new leader may know of a lower high watermark, so epochs are not compared. Only records that
    were read raw count, by requests that named the epoch. Source:
    UnifiedLog.maybeIncrementHighWatermark; KIP-98 (last stable offset); KIP-320 (requests that name
    the epoch). Counted: answers after another in the same epoch.
    """

    name: ClassVar[str] = "high_watermark"
    title: ClassVar[str] = "a leader's high watermark does not go back"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.LEADER_ANSWERS})
    counted_under: ClassVar[frozenset[Needs]] = needs
    whole: ClassVar[str] = "the highest so far"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        said = answers(events)
        before = pl.concat([_level(said, kind, earlier) for kind, (earlier, _) in LEVELS.items()])
        after = pl.concat([_level(said, kind, later) for kind, (_, later) in LEVELS.items()])
        found = (
            after.sort("t_invoke_ns")
            .join_asof(
                _highest(before),
                left_on="t_invoke_ns",
                right_on="t_complete_ns",
                by=LEADER,
                strategy="backward",
                allow_exact_matches=False,
                check_sortedness=False,
            )
            .filter(pl.col("level") < pl.col("highest"))
        )
        message = pl.format(
            "the leader of epoch {} reported {}, although an earlier answer in that epoch had "
            "reached {} ({})",
            "leader_epoch",
            "level",
            "highest",
            "kind",
        )
        return describe(found, KEY, pl.col("kind"), ["op_highest", "op_id"], message, "broker")

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        in_epoch = pl.col("op_id").rank("ordinal").over(*KEY, "leader_epoch")
        return count(answers(events).filter(in_epoch > 1))


def answers(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the leaders' answers, one row per operation and partition. `reach`: the higher of the
    last stable offset and the end of the records that it read raw, or null without both."""
    given = (
        events.filter(IS_RAW & pl.col("replica").is_null())
        .group_by(*KEY, "op_id")
        .agg(end=pl.col("offset").max() + 1)
    )
    return (
        events.filter(IS_LEADER_ANSWER & pl.col("t_complete_ns").is_not_null())
        .select(
            *KEY,
            "op_id",
            "leader_epoch",
            "t_invoke_ns",
            "t_complete_ns",
            "high_watermark",
            "last_stable_offset",
            "log_start",
        )
        .join(given, on=[*KEY, "op_id"], how="left")
        .with_columns(reach=pl.max_horizontal("end", "last_stable_offset"))
    )


def _level(said: pl.LazyFrame, kind: str, column: str) -> pl.LazyFrame:
    return said.filter(pl.col(column).is_not_null()).select(
        *KEY,
        "leader_epoch",
        "op_id",
        "t_invoke_ns",
        "t_complete_ns",
        kind=pl.lit(kind),
        level=pl.col(column),
    )


def _highest(levels: pl.LazyFrame) -> pl.LazyFrame:
    """Return, for the time of each answer, the highest level reported in its epoch so far (per
    `LEADER`), and the operation that first reported it."""
    levels = levels.sort("t_complete_ns", "op_id")
    is_first = (pl.col("level") > pl.col("highest").shift(1).over(LEADER)).fill_null(True)
    return (
        levels.with_columns(highest=pl.col("level").cum_max().over(LEADER))
        .with_columns(op_highest=pl.when(is_first).then(pl.col("op_id")))
        .with_columns(pl.col("op_highest").forward_fill().over(LEADER))
        .select(*LEADER, "t_complete_ns", "highest", "op_highest")
    )
