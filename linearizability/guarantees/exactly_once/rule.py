"""An input is consumed by exactly one committed transaction of a group."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.evidence.removals import still_there
from linearizability.guarantees.group_delivery.rule import (
    COUNTED,
    GROUP,
    IS_SEEK,
    MEMBERS_READ,
    PASSES_OVER,
)
from linearizability.history import F, Type
from linearizability.ingest import ABORTED, COMMITTED, IS_FINAL, IS_OK, KEY

OUTCOME = pl.col("txn_outcome")
IN_COMMITTED = (OUTCOME == COMMITTED).fill_null(False)
IN_ABORTED = (OUTCOME == ABORTED).fill_null(False)
HAS_FAILED = pl.col("type") == Type.FAIL.value
IS_POSITION = IS_OK & (
    ((pl.col("f") == F.SEND_OFFSETS.value) & IN_COMMITTED)
    | ((pl.col("f") == F.FETCH_OFFSETS.value) & IS_FINAL)
)
"""The condition on a row that shows a position of the group: everything below that offset counts as
consumed."""


class ExactlyOnce(Checker):
    """Two committed transactions of subscribed members of one group consumed the same record. Or
    none did: only aborted transactions consumed it, and the group moved past it afterwards, by a
    record of a committed transaction, by the offsets that one sent, or by the position that the
    group has in the end. Records that may have left the log are not judged.

    A transaction commits the positions of what it polled (KIP-447, sendOffsetsToTransaction), so
    the next one continues after them; an aborted one leaves them unchanged. If the history shows
    the offsets that it sent, it consumed only inputs below the highest one that was accepted. If
    the group is set
    back by a lower offset committed outside of transactions, the inputs from there on may be
    consumed once more. After a seek of a member only that member may consume them once more, until
    it has sent or committed a position: then its successors may too. Inputs that a member sought
    over, or left out because it began at the log's end, or an operator passed by a commit for the
    group, need no effect. A transaction of unknown
    end may have consumed the records that it received. A poll of unknown result excuses missing
    effects of the records that it may have delivered (`lost_polls`), but never two effects. Source:
    docs, design#semantics ("exactly once"). Counted: records that members were given in
    transactions of known end.
    """

    name: ClassVar[str] = "exactly_once"
    title: ClassVar[str] = "a group consumes each input record in exactly one committed transaction"
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.GROUP_READS, Needs.INPUTS})
    counted_under: ClassVar[frozenset[Needs]] = frozenset({Needs.GROUP_READS})
    whole: ClassVar[str] = "what may be gone from the log"

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        twice = (
            consumed_twice(events)
            .group_by(*GROUP, "offset", "value", "times_set_back")
            .agg(ops=pl.col("op_id").unique(), transactions=pl.col("txn").n_unique())
            .filter(pl.col("transactions") > 1)
        )
        consumed = pl.format(
            "record {} at offset {} was consumed by {} committed transactions of group {}",
            "value",
            "offset",
            "transactions",
            "group",
        )
        passed = pl.format(
            "group {} moved past record {} at offset {}, which only aborted transactions had "
            "consumed",
            "group",
            "value",
            "offset",
        )
        operations = ["op_id", "later_op"]
        return pl.concat(
            [
                describe(twice, KEY, "consumed-twice", ["ops"], consumed),
                describe(without_effect(events), KEY, "consumed-never", operations, passed),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        return count(inputs(events))


def inputs(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the records that subscribed members received, by successful polls, in transactions of
    known end."""
    return events.filter(COUNTED & (IN_COMMITTED | IN_ABORTED))


def consumed_twice(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the inputs of several committed transactions, one row for each transaction and poll
    that received them, with how often the polling member's position had been set back before the
    poll to the input or to an offset before it (times_set_back)."""
    input_of = [*GROUP, "offset", "value"]
    given = (
        below_what_was_sent(inputs(events).filter(IN_COMMITTED), events)
        .select(*input_of, "txn", "op_id", "process")
        .filter(pl.col("txn").n_unique().over(input_of) > 1)
    )
    is_before = (pl.col("back_op") < pl.col("op_id")) & (pl.col("back_to") <= pl.col("offset"))
    is_own = pl.col("seeker").is_null() | (
        (pl.col("seeker") == pl.col("process")) != pl.col("of_others")
    )
    return (
        given.join(set_back(events), on=GROUP, how="left")
        .group_by(*input_of, "txn", "op_id")
        .agg(times_set_back=(is_before & is_own).fill_null(False).sum())
    )


def below_what_was_sent(reads: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the reads without those at or above the highest offset of their partition that their
    transaction sent and the coordinator accepted. Keep all of a transaction that, as far as the
    history shows, sent no offset of the partition. Keep none of one that sent only offsets that
    were not accepted."""
    is_sent = (pl.col("f") == F.SEND_OFFSETS.value) & pl.col("txn").is_not_null()
    sent = (
        events.filter(is_sent)
        .group_by(*GROUP, "txn")
        .agg(is_sent=pl.lit(True), below=pl.col("offset").filter(IS_OK).max())
    )
    is_below = (pl.col("offset") < pl.col("below")).fill_null(False)
    return (
        reads.join(sent, on=[*GROUP, "txn"], how="left")
        .filter(pl.col("is_sent").is_null() | is_below)
        .drop("is_sent", "below")
    )


def set_back(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return back_to and back_op: to which offset positions were set back, and by which operation.
    seeker: the process that set them back by a seek, or null if a commit did. of_others: whether
    the other members' positions were set back, because the seeker has sent or committed its own.
    A group's first commit counts as well if it was made outside of transactions."""
    is_set = pl.col("f").is_in([F.COMMIT_OFFSETS.value, F.SEND_OFFSETS.value])
    positions = (
        events.filter(is_set & ~HAS_FAILED & pl.col("group").is_not_null())
        .filter(pl.col("offset").is_not_null())
        .sort("op_id", "offset")
        .with_columns(most=pl.col("offset").cum_max().shift(1).over(GROUP))
    )
    is_back = pl.col("txn").is_null() & (pl.col("offset") < pl.col("most")).fill_null(True)
    of_group = positions.filter(is_back).select(*GROUP, back_to="offset", back_op="op_id")
    seeks = events.filter(IS_SEEK).select(
        *GROUP, back_to="offset", back_op="op_id", seeker="process", of_others=pl.lit(False)
    )
    sent = positions.filter(~IN_ABORTED).select(*GROUP, seeker="process", sent_op="op_id")
    handed_on = (
        seeks.sort("back_op")
        .join_asof(
            sent.sort("sent_op"),
            left_on="back_op",
            right_on="sent_op",
            by=[*GROUP, "seeker"],
            strategy="forward",
            check_sortedness=False,
        )
        .filter(pl.col("sent_op").is_not_null())
        .select(*GROUP, "back_to", "seeker", back_op="sent_op", of_others=pl.lit(True))
    )
    return pl.concat([seeks, of_group, handed_on], how="diagonal")


def without_effect(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return records that only aborted transactions received and that must still be in the log,
    with the first poll that received them and the later operation that moved the group past them;
    neither a lost poll nor a seek over them lies between the two."""
    of_era = [*GROUP, "era"]
    effects = events.filter(MEMBERS_READ & ~IN_ABORTED).select(*GROUP, "offset").unique()
    aborted = (
        events.filter(COUNTED & IN_ABORTED & pl.col("era").is_not_null())
        .join(effects, on=[*GROUP, "offset"], how="anti")
        .sort("op_id", "record_index")
        .unique([*GROUP, "offset", "value"], keep="first", maintain_order=True)
        .select(*of_era, "offset", "value", "op_id", after_op=pl.col("op_id") + 1)
    )
    is_position = IS_POSITION & pl.col("offset").is_not_null()
    moving = pl.concat(
        [
            below_what_was_sent(events.filter(COUNTED & IN_COMMITTED), events),
            events.filter(is_position),
        ]
    )
    is_further = (pl.col("offset") > pl.col("reach").shift(1).over(of_era)).fill_null(True)
    passing = (
        moving.filter(pl.col("group").is_not_null() & pl.col("era").is_not_null())
        .sort("op_id", "offset", descending=True)
        .with_columns(reach=pl.col("offset").cum_max().over(of_era))
        .with_columns(later_op=pl.when(is_further).then("op_id"))
        .select(*of_era, "reach", pl.col("later_op").forward_fill().over(of_era), since_op="op_id")
        .unique([*of_era, "since_op"], keep="last", maintain_order=True)
        .sort("since_op")
    )
    passed = (
        still_there(aborted, events)
        .sort("after_op")
        .join_asof(
            passing,
            left_on="after_op",
            right_on="since_op",
            by=of_era,
            strategy="forward",
            coalesce=False,
            check_sortedness=False,
        )
        .filter(pl.col("reach") > pl.col("offset"))
    )
    seeks = events.filter(PASSES_OVER).select(*GROUP, sought="offset", seek_op="op_id")
    is_between = (pl.col("op_id") < pl.col("seek_op")) & (pl.col("seek_op") < pl.col("later_op"))
    sought_over = passed.join(seeks, on=GROUP).filter(
        is_between & (pl.col("offset") < pl.col("sought"))
    )
    return passed.join(sought_over, on=[*GROUP, "offset", "op_id"], how="anti")
