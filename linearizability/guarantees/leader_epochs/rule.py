"""Leader epochs do not decrease along a log."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, describe
from linearizability.history import F
from linearizability.ingest import IS_OK, KEY, NO_TOPIC_ID
from linearizability.reads.inferred_log import ACKNOWLEDGED, PROVEN_POLL

BATCH = PROVEN_POLL & pl.col("producer_id").is_not_null() & (pl.col("leader_epoch") >= 0)
"""The condition on rows that have the header of their batch; there, `leader_epoch` is that of the
leader that wrote the batch."""
OLDER, TWO_LEADERS, RETURNED = "older-epoch", "two-leaders", "node-in-older-epoch"
NAMES_LEADER = (
    pl.col("f").is_in([F.POLL.value, F.READ_ALL.value])
    & IS_OK
    & pl.col("offset").is_null()
    & pl.col("replica").is_null()
    & (pl.col("leader_epoch") >= 0)
    & pl.col("t_complete_ns").is_not_null()
)
"""The condition on rows without a record: there, `leader_epoch` is that of the leader that
answered."""

NAMES_NODE = NAMES_LEADER & pl.col("node").is_not_null() & (pl.col("topic_id") != NO_TOPIC_ID)
"""The condition on those that also name the leader's node. Without topic ids, the epochs of a topic
that was created again cannot be told from those of the former one."""


class LeaderEpochs(Checker):
    """A record read raw was written under an older leader epoch than a record at a lower
    offset. Or a record was sent and acknowledged (acks=all) while the leader of a newer epoch
    led: that leader answered a request before the send was invoked, and another one after the
    acknowledgement. Or two nodes answered as leaders of one epoch. Or a node answered as the
    leader of an epoch after it had answered as that of a newer one; a loss of power may make it
    forget that for a while (`overdue.py`).

    A leader stamps what it appends with its epoch, and a new leader's epoch is higher. A deposed
    leader may append meanwhile, but its record is not acknowledged, since no replica follows it.
    Source: KIP-101, "Leader Epoch"; LeaderEpochFileCache; KIP-320 (requests that name the epoch).
    Counted: records read raw after another, and answers that name the leader's node.
    """

    name: ClassVar[str] = "leader_epochs"
    title: ClassVar[str] = "leader epochs do not decrease along a log"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.BATCH_HEADERS})
    counted_under: ClassVar[frozenset[Needs]] = needs
    whole: ClassVar[str] = "the record before each, and who led when"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        found = along_the_log(events).filter(pl.col("leader_epoch") < pl.col("before"))
        message = pl.format(
            "offset {} has leader epoch {}, but offset {} before it has the newer epoch {}",
            "offset",
            "leader_epoch",
            "offset_before",
            "before",
        )
        older = pl.format(
            "record {} at offset {} has leader epoch {}, but it was sent and acknowledged while the"
            " leader of epoch {} led",
            "value",
            "offset",
            "leader_epoch",
            "led",
        )
        twice = pl.format("nodes {} and {} both led in epoch {}", "node", "other", "leader_epoch")
        again = pl.format(
            "node {} answered as the leader of epoch {} after it had led in epoch {}",
            "node",
            "leader_epoch",
            "newest",
        )
        operations = ["op_id", "send_op", "op_before", "op_behind"]
        return pl.concat(
            [
                describe(found, KEY, "epoch-goes-back", ["op_before", "op_id"], message, "broker"),
                describe(stamped_older(events), KEY, OLDER, operations, older, "broker"),
                describe(
                    two_leaders(events), KEY, TWO_LEADERS, ["op_id", "other_op"], twice, "broker"
                ),
                describe(returned(events), KEY, RETURNED, ["op_id", "newest_op"], again, "broker"),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        judged = [along_the_log(events), leaders(events)]
        return pl.concat([rows.select(checked=pl.len().cast(pl.Int64)) for rows in judged]).sum()


def along_the_log(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return once each pair (offset, epoch) of the records read raw, with the pair before it in the
    log (offset_before, before); the first pair of a partition, which has none before it, is left
    out."""
    return (
        events.filter(BATCH)
        .group_by(*KEY, "offset", "leader_epoch")
        .agg(pl.col("op_id").min())
        .sort(*KEY, "offset", "leader_epoch")
        .with_columns(
            before=pl.col("leader_epoch").shift(1).over(KEY),
            offset_before=pl.col("offset").shift(1).over(KEY),
            op_before=pl.col("op_id").shift(1).over(KEY),
        )
        .filter(pl.col("before").is_not_null())
    )


def leaders(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the answers that name the leader's node, in partitions that were read raw."""
    read = events.filter(BATCH).select(KEY).unique()
    return events.filter(NAMES_NODE).join(read, on=KEY, how="semi")


def two_leaders(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each epoch in which several nodes answered as its leader, with the first answers of
    the first two: node, op_id, other, other_op."""
    first = (
        leaders(events)
        .group_by(*KEY, "leader_epoch", "node")
        .agg(pl.col("op_id").min())
        .sort(*KEY, "leader_epoch", "op_id", "node")
        .with_columns(
            other=pl.col("node").shift(-1).over(*KEY, "leader_epoch"),
            other_op=pl.col("op_id").shift(-1).over(*KEY, "leader_epoch"),
        )
        .filter(pl.col("other").is_not_null())
    )
    return first.unique([*KEY, "leader_epoch"], keep="first", maintain_order=True)


def returned(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each epoch in which a node answered after it had led in a newer one, with the first
    such answer: node, op_id; newest, newest_op: the newest epoch that it had led in before, and the
    first answer to end in that."""
    of_node = [*KEY, "node"]
    answers = leaders(events).select(
        *of_node, "op_id", "leader_epoch", "t_invoke_ns", "t_complete_ns"
    )
    ended = answers.sort("t_complete_ns", "op_id").with_columns(
        newest=pl.col("leader_epoch").cum_max().over(of_node)
    )
    is_first = (pl.col("newest") > pl.col("newest").shift(1).over(of_node)).fill_null(True)
    newest = ended.filter(is_first).select(
        *of_node, "newest", newest_op="op_id", known_ns="t_complete_ns"
    )
    return (
        answers.sort("t_invoke_ns", "op_id")
        .join_asof(
            newest,
            left_on="t_invoke_ns",
            right_on="known_ns",
            by=of_node,
            strategy="backward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("leader_epoch") < pl.col("newest"))
        .sort("t_invoke_ns", "op_id")
        .unique([*of_node, "leader_epoch"], keep="first", maintain_order=True)
    )


def stamped_older(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the acknowledged records that have an older epoch than the leader who led while they
    were sent: the last answer before their send was invoked (op_before) and the first one after
    they were acknowledged (op_behind) name the same epoch (led). send_op: the send."""
    answers = events.filter(NAMES_LEADER).select(
        *KEY, "op_id", led="leader_epoch", begun_ns="t_invoke_ns", over_ns="t_complete_ns"
    )
    sent = events.filter(ACKNOWLEDGED & pl.col("t_complete_ns").is_not_null()).select(
        *KEY, "offset", "value", "t_invoke_ns", "t_complete_ns", send_op="op_id"
    )
    batches = (
        events.filter(BATCH)
        .group_by(*KEY, "offset", "value", "leader_epoch")
        .agg(pl.col("op_id").min())
    )
    before = answers.sort("over_ns", "op_id").select(*KEY, "led", "over_ns", op_before="op_id")
    behind = answers.sort("begun_ns", "op_id", descending=[False, True]).select(
        *KEY, "begun_ns", led_behind="led", op_behind="op_id"
    )
    return (
        sent.sort("t_invoke_ns")
        .join_asof(
            before,
            left_on="t_invoke_ns",
            right_on="over_ns",
            by=KEY,
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .sort("t_complete_ns")
        .join_asof(
            behind,
            left_on="t_complete_ns",
            right_on="begun_ns",
            by=KEY,
            strategy="forward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("led") == pl.col("led_behind"))
        .join(batches, on=[*KEY, "offset", "value"])
        .filter(pl.col("leader_epoch") < pl.col("led"))
    )
