"""A group assigns every partition to a member, and at least one partition to every member."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.evidence.groups import NO_OWNER, NO_PART, STARVED, TWO_OWNERS, WATCHED
from linearizability.evidence.sessions import CUT_SHORT, NOT_TOLD, OUTLIVED, STAYED


class GroupLiveness(Checker):
    """A duty of a group took longer than a rebalance may take, while members polled and there was
    no fault; or a coordinator's answers contradict its assignment or a member's session. The kinds
    of anomaly:

    - `partition-without-owner`: no live member owned a partition. (For a new partition of a topic
      the time begins after metadata.max.age.ms, under KIP-848 at once.)
    - `member-without-part`: a live member owned no partition, although there are more partitions
      than processes that were ever members.
    - `group-starved`: the group received nothing of a partition although an acknowledged plain
      record was waiting there, and no member received anything else in the end.
    - `assigned-twice`: two members owned a partition at the same time in one generation. A member
      that was told FENCED_INSTANCE_ID does not count: another has taken its place.
    - `session-cut-short`: a member was removed although it had sent a heartbeat within the session
      time-out.
    - `session-outlived`: a member was still accepted 10 s after its session had ended.
    - `member-after-leaving`: a member was still accepted after it had left.
    - `not-told-to-rejoin`: a heartbeat of a classic member was accepted although another member had
      waited for 10 s for the answer to its JoinGroup; it must get REBALANCE_IN_PROGRESS.

    Sessions of members that a fault affected are left out. A rebalance may take the sum of the
    session time-out (session.timeout.ms), the longest time that any member spent between two polls
    (5 s at least, the rebalance time-out max.poll.interval.ms at most), and 15 s. The partitions
    that members own are known from `owned` rows, the time-outs from `subscribe` rows or else from
    Kafka's defaults. Source: docs, consumerconfigs (session.timeout.ms, max.poll.interval.ms);
    KIP-62; KIP-848. Counted: partitions of groups that were watched for longer than that, and pairs
    of consecutive requests of members.
    """

    name: ClassVar[str] = "group_liveness"
    title: ClassVar[str] = "a group assigns each partition to one live member within a bounded time"
    scope: ClassVar[Scope] = Scope.GROUP
    needs: ClassVar[frozenset[Needs]] = frozenset()

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        sentences = {
            STARVED: pl.format(
                "group {} received nothing for {} s, although records were waiting",
                "group",
                "seconds",
            ),
            NO_OWNER: pl.format(
                "no live member of group {} owned the partition for {} s", "group", "seconds"
            ),
            NO_PART: pl.format(
                "process {} was a member of group {} for {} s and owned no partition",
                "process",
                "group",
                "seconds",
            ),
            TWO_OWNERS: pl.format(
                "two members of group {} owned the partition in one generation", "group"
            ),
            CUT_SHORT: pl.format(
                "process {} was removed from group {} although it had sent a heartbeat within its "
                "session.timeout.ms",
                "process",
                "group",
            ),
            OUTLIVED: pl.format(
                "process {} was still a member of group {} after {} s without a heartbeat",
                "process",
                "group",
                "seconds",
            ),
            NOT_TOLD: pl.format(
                "a heartbeat of process {} in group {} was accepted without REBALANCE_IN_PROGRESS "
                "although another member had waited for 10 s to join",
                "process",
                "group",
            ),
            STAYED: pl.format(
                "process {} was still a member of group {} after it had left", "process", "group"
            ),
        }
        message = pl.lit(None, dtype=pl.String)
        for kind, sentence in sentences.items():
            message = pl.when(pl.col("kind") == kind).then(sentence).otherwise(message)
        found = events.filter(pl.col("kind") != WATCHED)
        where = ["topic", "partition", "group", "process"]
        return describe(found, where, pl.col("kind"), ["op_ids"], message, "broker")

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(events)
