"""An input is consumed by exactly one committed transaction of a group."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.checkers.base import Checker, Needs, Scope, count, describe
from linearizability.evidence.removals import still_there
from linearizability.guarantees.group_delivery.rule import COUNTED, GROUP, IS_SEEK, MEMBERS_READ
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
    the next one continues after them; an aborted one leaves them unchanged. If the group is set
    back (by a member's seek, or a lower offset committed outside of transactions), the inputs from
    there on may be consumed once more. A transaction of unknown end may have consumed the records
    that it received. A poll of unknown result excuses missing effects of the records that it may
    have delivered (`lost_polls`), but never two effects. Source: docs, design#semantics ("exactly
    once"). Counted: records that members were given in transactions of known end.
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
    """Return the records that members received in transactions of known end."""
    return events.filter(COUNTED & (IN_COMMITTED | IN_ABORTED))


def consumed_twice(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the inputs of several committed transactions, each with how often the group had been
    set back to it or to an offset before it."""
    input_of = [*GROUP, "offset", "value"]
    given = (
        inputs(events)
        .filter(IN_COMMITTED)
        .select(*input_of, "txn", "op_id")
        .filter(pl.col("txn").n_unique().over(input_of) > 1)
    )
    is_before = (pl.col("back_op") < pl.col("op_id")) & (pl.col("back_to") <= pl.col("offset"))
    return (
        given.join(set_back(events), on=GROUP, how="left")
        .group_by(*input_of, "txn", "op_id")
        .agg(times_set_back=is_before.fill_null(False).sum())
    )


def set_back(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return back_to and back_op: the offset and the operation of each member's seek, and of each
    offset that was committed outside of transactions and is lower than an earlier one."""
    is_set = pl.col("f").is_in([F.COMMIT_OFFSETS.value, F.SEND_OFFSETS.value])
    positions = (
        events.filter(is_set & ~HAS_FAILED & pl.col("group").is_not_null())
        .filter(pl.col("offset").is_not_null())
        .sort("op_id", "offset")
        .with_columns(most=pl.col("offset").cum_max().shift(1).over(GROUP))
    )
    is_back = pl.col("txn").is_null() & (pl.col("offset") < pl.col("most")).fill_null(True)
    both = [positions.filter(is_back), events.filter(IS_SEEK)]
    return pl.concat(rows.select(*GROUP, back_to="offset", back_op="op_id") for rows in both)


def without_effect(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return records that only aborted transactions received, with the first poll that received
    them and the later operation that moved the group past them; no lost poll lies between the
    two."""
    of_era = [*GROUP, "era"]
    effects = events.filter(MEMBERS_READ & ~IN_ABORTED).select(*GROUP, "offset").unique()
    aborted = (
        events.filter(COUNTED & IN_ABORTED & pl.col("era").is_not_null())
        .join(effects, on=[*GROUP, "offset"], how="anti")
        .sort("op_id", "record_index")
        .unique([*GROUP, "offset", "value"], keep="first", maintain_order=True)
        .select(*of_era, "offset", "value", "op_id", after_op=pl.col("op_id") + 1)
    )
    is_passing = (COUNTED & IN_COMMITTED) | (IS_POSITION & pl.col("offset").is_not_null())
    is_further = (pl.col("offset") > pl.col("reach").shift(1).over(of_era)).fill_null(True)
    passing = (
        events.filter(is_passing & pl.col("group").is_not_null() & pl.col("era").is_not_null())
        .sort("op_id", "offset", descending=True)
        .with_columns(reach=pl.col("offset").cum_max().over(of_era))
        .with_columns(later_op=pl.when(is_further).then("op_id"))
        .select(*of_era, "reach", pl.col("later_op").forward_fill().over(of_era), since_op="op_id")
        .unique([*of_era, "since_op"], keep="last", maintain_order=True)
        .sort("since_op")
    )
    return (
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
