"""Find out from a group's OffsetFetch answers whether the offsets that its transactions sent are in
force.

A transaction's offsets take effect with its commit. But their place in the order of commits is that
of TxnOffsetCommit, not that of the transaction's end (GroupMetadata.completePendingTxnOffsetCommit;
OffsetMetadataManager): a commit that reached the coordinator after them remains in force. While the
transaction is open, no member gets a stable offset (KIP-447, UNSTABLE_OFFSET_COMMIT). So an answer
that only one transaction explains shows that its offsets are in force. An answer that was requested
after the offsets had been acknowledged, and that no later commit explains either, shows that they
are not.

The history must contain every commit of such a group. A transaction that received records of the
partition, may have committed, and has no row of its offsets, may have sent any offset.
"""

from __future__ import annotations

import polars as pl

from linearizability.bounds import NEVER
from linearizability.evidence.ends import OF_ITS_TRANSACTION
from linearizability.history import PARTITION, F, Type
from linearizability.ingest import (
    IS_DELETION,
    IS_FINAL,
    IS_OK,
    IS_POLL,
    KEY,
    NO_POSITION,
    TOLD_ABORT,
    TOLD_COMMIT,
    UNASKED,
    UNKNOWN,
)

IN_FORCE, NOT_IN_FORCE = "in_force", "not_in_force"
OF_GROUP = [*KEY, "group"]
MAY_BE_OLD_NS = 60 * 1_000_000_000
"""The age in nanoseconds that an OffsetFetch answer may have before the final phase: a former
coordinator that does not know its successor answers from its old state (`committed_offsets`)."""
HAS_GROUP = pl.col("group").is_not_null() & pl.col("topic").is_not_null()
IS_SENT = (pl.col("f") == F.SEND_OFFSETS.value) & HAS_GROUP & pl.col("offset").is_not_null()
IS_SET = (pl.col("f") == F.COMMIT_OFFSETS.value) & pl.col("offset").is_not_null()
IS_COMMIT = (((IS_SET | IS_DELETION) & HAS_GROUP) | IS_SENT) & (pl.col("type") != Type.FAIL.value)
IS_FETCHED = (pl.col("f") == F.FETCH_OFFSETS.value) & IS_OK & HAS_GROUP
IS_BEGUN = (pl.col("f") == F.POSITION.value) & IS_OK & HAS_GROUP & (pl.col("asked") == "committed")
IS_CERTAIN = pl.col("txn").is_null() | (pl.col("told") == TOLD_COMMIT).fill_null(False)
IS_ABORTED = (pl.col("told") == TOLD_ABORT).fill_null(False)
MAY_BE_LATER = (pl.col("begun_ns") <= pl.col("answered_ns")) & (
    pl.col("over_ns") >= pl.col("last_ns").fill_null(0)
)
"""The condition on a commit that may have reached the coordinator after the last known commit: it
had begun before the answer, and was not over when the last commit was invoked."""
MAY_COMMIT = pl.col("told").fill_null(UNASKED).is_in([TOLD_COMMIT, UNKNOWN])


def offsets_told(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return evidence of the kinds IN_FORCE and NOT_IN_FORCE (`evidence.transactions.COLUMNS`)."""
    commits = commits_of_groups(events)
    answers = answers_of_groups(events)
    certain = with_last(answers, last_of(commits.filter(IS_CERTAIN)))
    # Of other transactions only a stable answer tells that they have ended.
    stable = answers.filter("is_stable")
    ended = with_last(stable, last_of(commits.filter(~IS_ABORTED))).filter(~IS_CERTAIN)
    by_last = unexplained(ended, commits, events)
    found = [
        only_explanations(certain, commits, events).with_columns(kind=pl.lit(IN_FORCE)),
        *(
            rows.with_columns(kind=pl.lit(NOT_IN_FORCE))
            for rows in (
                unexplained(certain, commits, events),
                by_last,
                unexplained(earlier(by_last, certain, commits), commits, events),
            )
        ),
    ]
    names = events.filter(HAS_GROUP).select(*KEY, *PARTITION).unique()
    return pl.concat(
        rows.join(names, on=KEY)
        .with_columns(offset=pl.col("sent"), value=pl.lit(None), op_ids=pl.concat_list("op_id"))
        .select(*OF_ITS_TRANSACTION, "kind", *PARTITION, "offset", "value", "send_op", "op_ids")
        for rows in found
    )


def commits_of_groups(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the commits that may have set a group's offset: OF_GROUP; the offset (`sent`) and the
    operation that sent it (`send_op`); begun_ns and over_ns, between which the commit reached the
    coordinator; since_ns, from when on it is certainly in force or its transaction has ended either
    way (null if unknown)."""
    over_ns = pl.when(IS_OK).then("t_complete_ns")
    is_plain = pl.col("txn").is_null()
    ended_ns = (
        pl.when(is_plain | (pl.col("told") != TOLD_COMMIT))
        .then(0)
        .otherwise(pl.col("end_ns").fill_null(NEVER))
    )
    return events.filter(IS_COMMIT).select(
        *OF_GROUP,
        *OF_ITS_TRANSACTION,
        sent=pl.col("offset").fill_null(NO_POSITION),
        send_op="op_id",
        begun_ns="t_invoke_ns",
        over_ns=over_ns.fill_null(NEVER),
        since_ns=pl.max_horizontal(over_ns, ended_ns),
    )


def answers_of_groups(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the answers that groups got: OF_GROUP, op_id, answer (or NO_POSITION), as_of_ns and
    answered_ns (the answer was valid at some time between them), is_stable (OffsetFetch with
    require_stable)."""
    age_ns = pl.when(IS_FINAL).then(0).otherwise(MAY_BE_OLD_NS)
    answer = pl.when(IS_BEGUN).then("asked_offset").otherwise("offset")
    return events.filter((IS_FETCHED | IS_BEGUN) & pl.col("t_complete_ns").is_not_null()).select(
        *OF_GROUP,
        "op_id",
        answer=answer.fill_null(NO_POSITION),
        as_of_ns=pl.col("t_invoke_ns") - age_ns,
        answered_ns="t_complete_ns",
        is_stable=IS_FETCHED,
    )


def with_last(answers: pl.LazyFrame, last: pl.LazyFrame) -> pl.LazyFrame:
    """Return each answer with the columns of the last commit that was certainly in force, or had
    ended, before the answer was requested. They are null if there is none."""
    return answers.sort("as_of_ns").join_asof(
        last,
        left_on="as_of_ns",
        right_on="since_ns",
        by=OF_GROUP,
        strategy="backward",
        allow_exact_matches=False,
        coalesce=False,
        check_sortedness=False,
    )


def last_of(commits: pl.LazyFrame) -> pl.LazyFrame:
    """Return each commit, in the order of since_ns, with the newest commit that had reached the
    coordinator by then, and last_ns, the time at which that was invoked. Commits that were never
    acknowledged, or whose since_ns is unknown, are left out."""
    columns = ["sent", "send_op", *OF_ITS_TRANSACTION]
    ordered = (
        commits.filter(pl.col("since_ns").is_not_null() & (pl.col("over_ns") < NEVER))
        .sort("since_ns", "send_op")
        .with_row_index("row")
        .with_columns(last_ns=pl.col("begun_ns").cum_max().over(OF_GROUP))
    )
    is_later = (pl.col("begun_ns") > pl.col("last_ns").shift(1).over(OF_GROUP)).fill_null(True)
    latest = ordered.with_columns(latest=pl.when(is_later).then("row")).select(
        *OF_GROUP, "since_ns", "last_ns", latest=pl.col("latest").forward_fill().over(OF_GROUP)
    )
    told = ordered.select(columns, latest="row")
    return latest.join(told, on="latest", maintain_order="left").drop("latest")


def earlier(
    unexplained_by_last: pl.LazyFrame, certain: pl.LazyFrame, commits: pl.LazyFrame
) -> pl.LazyFrame:
    """Return these answers, each with the offsets of every transaction of unknown end that came
    after the last certain commit and had ended before the answer; last_ns: when they were sent.

    If the last transaction was aborted, the one before it should be in force, and so on.
    """
    answer = [*OF_GROUP, "op_id", "answer", "as_of_ns", "answered_ns"]
    since = certain.select(*OF_GROUP, "op_id", certain_ns=pl.col("last_ns").fill_null(0))
    undecided = commits.filter(
        ~IS_ABORTED & ~IS_CERTAIN & pl.col("since_ns").is_not_null() & (pl.col("over_ns") < NEVER)
    )
    return (
        unexplained_by_last.select(answer)
        .join(since, on=[*OF_GROUP, "op_id"])
        .join(undecided, on=OF_GROUP)
        .filter(
            (pl.col("since_ns") < pl.col("as_of_ns")) & (pl.col("begun_ns") > pl.col("certain_ns"))
        )
        .with_columns(last_ns="begun_ns")
    )


def unexplained(last: pl.LazyFrame, commits: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the answers that no commit explains, although the commit named beside them (the last
    one before them, or an earlier one) is a transaction's offsets. Commits that may have reached
    the coordinator after those offsets also count as explanations."""
    known = last.filter(pl.col("txn").is_not_null())
    own = commits.filter(~IS_ABORTED).select(*OF_GROUP, "begun_ns", "over_ns", answer="sent")
    pair = [*OF_GROUP, "op_id", "send_op"]
    asked = known.select(*pair, "answer", "answered_ns", "last_ns")
    by_name = asked.join(own, on=[*OF_GROUP, "answer"]).filter(MAY_BE_LATER)
    by_anything = asked.join(untold(events), on=OF_GROUP).filter(MAY_BE_LATER)
    explained = pl.concat(rows.select(pair) for rows in (by_name, by_anything))
    return known.join(explained, on=pair, how="anti")


def only_explanations(
    certain: pl.LazyFrame, commits: pl.LazyFrame, events: pl.LazyFrame
) -> pl.LazyFrame:
    """Return each answer that the offsets of exactly one transaction explain, with those offsets.
    certain: the answers, each with the last commit that was certainly in force."""
    answers = certain.select(*OF_GROUP, "op_id", "answer", "answered_ns", "last_ns")
    unsure = answers.join(untold(events), on=OF_GROUP).filter(MAY_BE_LATER)
    found = (
        answers.join(unsure, on=[*OF_GROUP, "op_id"], how="anti")
        .join(commits, left_on=[*OF_GROUP, "answer"], right_on=[*OF_GROUP, "sent"], coalesce=True)
        .filter(MAY_BE_LATER)
        .with_columns(sent="answer", writers=pl.col("txn").n_unique().over(*OF_GROUP, "op_id"))
    )
    return (
        found.filter((pl.col("writers") == 1) & pl.col("txn").is_not_null())
        .sort("send_op")
        .unique([*OF_GROUP, "op_id"], keep="first", maintain_order=True)
    )


def untold(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the transactions that may have sent an offset although the history has no row for it:
    the group polled records of the partition within them, and they may have committed. Columns:
    OF_GROUP, begun_ns, over_ns."""
    of_txn = [*OF_GROUP, "txn"]
    told = events.filter(IS_SENT).select(of_txn).unique()
    return (
        events.filter(IS_POLL & HAS_GROUP & pl.col("txn").is_not_null() & MAY_COMMIT)
        .group_by(of_txn)
        .agg(begun_ns=pl.col("t_invoke_ns").min(), over_ns=pl.col("end_ns").min().fill_null(NEVER))
        .join(told, on=of_txn, how="anti")
        .select(*OF_GROUP, "begun_ns", "over_ns")
    )
