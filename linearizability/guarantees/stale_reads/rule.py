"""A polling reader receives each readable record within a bounded time."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.bounds import NANOSECONDS
from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.history import PARTITION
from linearizability.reads.pauses import SPAN
from linearizability.reads.waiting import STALE


class StaleReads(Checker):
    """A reader of a partition still polled when a record had been readable for longer than the
    bound (60 s, `--stale-after`), and had received neither it nor anything else of the partition.

    `pauses` defines when a record is known to be readable; `waiting` defines "still polled", and
    what excuses a broker or a reader (faults, new positions, rebalances). A reader that receives
    old records is slow, not stale. A poll of unknown outcome may have delivered what was sent
    before it ended, and nothing that was sent later. A reader whose start is not recorded began at
    the beginning. Jepsen: worst-realtime-lag, reported only. Source:
    FetchRequest.json, MaxWaitMs; docs, design#replication (committed records are given to
    consumers). Counted: readers' partitions that were watched for longer than the bound.
    """

    name: ClassVar[str] = "stale_reads"
    title: ClassVar[str] = "a polling reader receives every readable record within a bounded time"
    scope: ClassVar[Scope] = Scope.READER
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.READERS})

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        who = pl.coalesce(
            pl.format("process {}", "process"), pl.format("the members of group {}", "group")
        )
        what = pl.col("value").cast(pl.String).fill_null("the record")
        message = pl.format(
            "{} polled for {} s without receiving {} at offset {}, which was readable",
            who,
            pl.col("waited_ns") // NANOSECONDS,
            what,
            "offset",
        )
        stale = events.filter(pl.col("kind") == STALE)
        return describe(stale, [*PARTITION, "process", "group"], "stale-read", ["op_ids"], message)

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(events.filter(pl.col("kind") == SPAN))
