"""A group that fetches its position gets the one that it committed last."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from linearizability.bounds import NEVER
from linearizability.checkers.base import Checker, Cut, Needs, Scope, describe
from linearizability.guarantees.committed_offsets.generations import (
    COMMITTED,
    IN_FORCE,
    OF_ACKNOWLEDGED_TRANSACTION,
    OF_GENERATION,
    UNSURE_OF_GENERATION,
    of_older_generations,
    of_replaced_owners,
)
from linearizability.guarantees.committed_offsets.latest import OF_GROUP, with_largest
from linearizability.guarantees.committed_offsets.memberless import WITHOUT_MEMBER, beside_a_member
from linearizability.guarantees.committed_offsets.undecided import (
    FETCHED,
    UNSTABLE,
    undecided_for_ever,
    while_undecided,
)
from linearizability.history import F
from linearizability.ingest import IS_FINAL, IS_OK, KEY, NO_POSITION

BEGAN = (
    (pl.col("f") == F.POSITION.value)
    & IS_OK
    & (pl.col("asked") == "committed")
    & pl.col("topic").is_not_null()
    & pl.col("group").is_not_null()
    & pl.col("t_complete_ns").is_not_null()
)
"""The condition on a member's start at the offset that its coordinator answered (asked_offset)."""
MAY_BE_OLD_NS = 60 * 1_000_000_000
"""The nanoseconds for which a broker without followers may continue to answer."""
UNEXPLAINED, OLD_GENERATION = "unexplained-offset", "old-generation-commits"
FORGOTTEN, TWO_OWNERS = "forgotten-offset", "two-owners"
UNDECIDED, HANGING = "told-while-undecided", "undecided-for-ever"
MEMBERLESS = "commit-without-member"
TOO_LATE = "commit-took-effect-late"
ARRIVES_NS = 60 * 1_000_000_000
"""The nanoseconds after its end in which a commit of unknown outcome may still reach the
coordinator, while no fault holds it up (`overdue.py` excuses faults)."""
REACHED_NS = pl.coalesce("t_complete_ns", pl.col("t_invoke_ns") + ARRIVES_NS) + pl.when(IS_OK).then(
    0
).otherwise(ARRIVES_NS)
"""The time until which a commit, also one in a transaction, can have reached the coordinator."""


class CommittedOffsets(Checker):
    """The answers to OffsetFetch, and the commits that a coordinator accepts, agree with the
    commits before them. The kinds of anomaly:

    - `unexplained-offset`: an answer names an offset that nobody had committed, or that a later
      commit had replaced; or the leader epoch or metadata in the answer differs from the commit's,
      if the history has both. A member that begins at its group's committed offset was given an
      answer, too.
    - `forgotten-offset`: an answer names no offset, although a commit was acknowledged before.
    - `commit-took-effect-late`: an answer names an offset, or none, that only commits of unknown
      outcome explain, and all of these had ended a minute before the last commit in force began, or
      before a transaction whose commit was acknowledged sent its offsets.
      Faults since that commit of unknown outcome excuse this (`overdue.py`).
    - `old-generation-commits`: a commit was accepted although it was invoked after a commit of a
      newer generation (KIP-848: member epoch) had been accepted for the partition, or after another
      member had received the partition in a newer generation from the committing one. If members
      are known, the newer commit must be another member's, since a consumer may use an older epoch
      of its own (KIP-1251); in the classic protocol it may be the member's own, since a group has
      one generation at a time.
    - `two-owners`: within one generation, member A committed for a partition, then B, then A again.
      A partition has one owner in a generation; only a restarted process with the same
      `group.instance.id` may replace the owner, and then for ever (KIP-345).
    - `commit-without-member`: a commit that names no member (generation -1) was accepted between
      two commits of one member in one generation, so while the group had that member
      (UNKNOWN_MEMBER_ID).
    - `told-while-undecided`: an answer to a request with `require_stable` came while a transaction
      was open whose offsets had been accepted and which was committed later. Until its commit is
      requested, OffsetFetch must not return an offset.
    - `undecided-for-ever`: an answer still said that a transaction may change the offset
      (UNSTABLE_OFFSET_COMMIT) 10 s after the end of every transaction that had sent offsets there:
      the end had been acknowledged, or the largest time-out and the coordinator's check for
      timed-out transactions were over. Faults in the minute before excuse this (`overdue.py`).

    Commits that overlap may have reached the coordinator in any order. A commit of unknown
    outcome may reach it until a minute after its end, but explains no answer if its generation
    was over when it was invoked: the coordinator must refuse it. The offsets of a transaction
    that was not aborted take effect with its end, but their place in the order of commits is
    that of TxnOffsetCommit (OffsetMetadataManager.replayEndTransactionMarker). A former
    coordinator that does not know its successor answers from its old state, since OffsetFetch
    is not replicated: until the final phase an answer may be a minute old. The history must
    contain every commit of the group, and every deletion (OffsetDelete, DeleteGroups) as a
    commit without an offset. No offset may have expired during the run
    (offsets.retention.minutes, a week): a recorder that cannot exclude this records no fetches.

    Source: KIP-447 (require_stable); KIP-496; KIP-229; OffsetFetchResponse.json, CommittedOffset;
    OffsetCommitRequest.json, GenerationIdOrMemberEpoch. Counted: answers, and accepted commits
    whose generation is known or that name no member.
    """

    name: ClassVar[str] = "committed_offsets"
    title: ClassVar[str] = (
        "a group that fetches its position gets the offset that it committed last"
    )
    scope: ClassVar[Scope] = Scope.PARTITION
    needs: ClassVar[frozenset[Needs]] = frozenset({Needs.COMMITTED_OFFSETS})
    counted_under: ClassVar[frozenset[Needs]] = needs
    cut: ClassVar[Cut | None] = Cut.GROUP

    def anomalies(self, events: pl.LazyFrame) -> pl.LazyFrame:
        fetches = with_last_commit(events)
        answer = [*OF_GROUP, "op_id"]
        explanations = explained(fetches, events)
        in_time = explanations.filter("in_time").select(answer)
        found = fetches.join(in_time.unique(), on=answer, how="anti")
        late_ones = explanations.group_by(answer).agg(
            pl.col("commit_op").filter("is_unknown").max(), is_in_force=pl.col("is_in_force").any()
        )
        found = found.join(late_ones, on=answer, how="left")
        is_replaced = ~pl.col("is_in_force").fill_null(False) & (
            pl.col("offset").is_not_null() | pl.col("last_op").is_not_null()
        )
        found = found.filter(is_replaced | pl.col("commit_op").is_not_null())
        is_by_sent = pl.col("commit_op").is_not_null() & (
            pl.col("sent_ns") > pl.col("last_ns").fill_null(-NEVER)
        )
        last_op = pl.when(is_by_sent).then("sent_op").otherwise("last_op")
        found = found.with_columns(last_op=last_op)
        message = pl.format(
            "group {} fetched its committed offset and got {}, which no commit explains",
            "group",
            pl.col("offset").cast(pl.String).fill_null("none"),
        )
        is_none = pl.col("offset").is_null()
        is_late = pl.col("commit_op").is_not_null()
        kind = pl.when(is_none).then(pl.lit(FORGOTTEN)).otherwise(pl.lit(UNEXPLAINED))
        kind = pl.when(is_late).then(pl.lit(TOO_LATE)).otherwise(kind)
        hasty = pl.format(
            "group {} fetched a committed offset while transaction {} could still change it",
            "group",
            "txn",
        )
        stuck = pl.format(
            "group {} was refused its committed offset because transaction {} might still change "
            "it, although that transaction had ended",
            "group",
            "txn",
        )
        return pl.concat(
            [
                describe(found, KEY, kind, ["op_id", "last_op", "commit_op"], message, "broker"),
                *wrongly_accepted(events),
                describe(
                    while_undecided(events), KEY, UNDECIDED, ["op_id", "send_op"], hasty, "broker"
                ),
                describe(
                    undecided_for_ever(events), KEY, HANGING, ["op_id", "send_op"], stuck, "broker"
                ),
            ]
        )

    def checked(self, events: pl.LazyFrame) -> pl.LazyFrame:
        judged = [answers(events), events.filter(UNSTABLE | OF_GENERATION | WITHOUT_MEMBER)]
        return pl.concat([rows.select(checked=pl.len().cast(pl.Int64)) for rows in judged]).sum()


def wrongly_accepted(events: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Return the anomalies of commits that their coordinator should have refused: by members of
    older generations, by replaced owners, and in the name of no member of a group that has some."""
    late = of_older_generations(events)
    again = of_replaced_owners(events)
    without = beside_a_member(events)
    owners = pl.format(
        "group {}, generation {}: one member committed an offset, then another member did, "
        "then the first one again; one of the two should have been fenced",
        "group",
        "generation",
    )
    nobody = pl.format(
        "an offset commit that names no member was accepted although group {} had member {} in "
        "generation {}",
        "group",
        "member_id",
        "generation",
    )
    accepted = pl.format(
        "an offset commit in generation {} of group {} was accepted although generation {} had "
        "begun",
        "generation",
        "group",
        "newest",
    )
    return [
        describe(late, KEY, OLD_GENERATION, ["op_id", "newest_op"], accepted, "broker"),
        describe(again, KEY, TWO_OWNERS, ["op_id", "other_op"], owners, "broker"),
        describe(without, KEY, MEMBERLESS, ["op_id", "before_op", "after_op"], nobody, "broker"),
    ]


def answers(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the answers to OffsetFetch, and the starts of members at the offset that their
    coordinator answered (begins is true). The history does not tell the leader epoch and metadata
    of starts, which count only in groups and partitions that have OffsetFetch answers too, since
    only then the history has every commit."""
    fetched = events.filter(FETCHED).with_columns(begins=pl.lit(False))
    began = events.filter(BEGAN).with_columns(begins=pl.lit(True), offset="asked_offset")
    known = fetched.select(OF_GROUP).unique()
    return pl.concat([fetched, began.join(known, on=OF_GROUP, how="semi")])


def with_last_commit(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return each answer with the newest commit that must be in force when the request is invoked
    (before the final phase: a minute earlier): last_ns (its invocation), last_op. sent_ns, sent_op:
    the same of the offsets of transactions whose commit was acknowledged; `ends_honoured` judges
    whether they are in force, and here they only bound the time in which a commit of unknown
    outcome can explain the answer. All four may be null."""
    commits = events.filter(COMMITTED & IN_FORCE).sort("t_complete_ns", "op_id")
    commits = commits.select(
        *OF_GROUP, since_ns="t_complete_ns", last_ns="t_invoke_ns", last_op="op_id"
    )
    sent = events.filter(OF_ACKNOWLEDGED_TRANSACTION).select(
        *OF_GROUP,
        since_ns=pl.max_horizontal("t_complete_ns", "end_ns"),
        sent_ns="t_invoke_ns",
        sent_op="op_id",
    )
    age_ns = pl.when(IS_FINAL).then(0).otherwise(MAY_BE_OLD_NS)
    asked = answers(events).select(
        *OF_GROUP,
        "op_id",
        "offset",
        "detail",
        "begins",
        as_of_ns=pl.col("t_invoke_ns") - age_ns,
        answered_ns="t_complete_ns",
    )
    asked = with_largest(asked, "as_of_ns", commits, "last_ns", ("last_op",))
    sent = sent.sort("since_ns", "sent_op")
    return with_largest(asked, "as_of_ns", sent, "sent_ns", ("sent_op",))


def explained(fetches: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return a row for each pair of an answer and a commit of the same offset that had begun before
    the answer, so that it explains it: OF_GROUP, op_id, commit_op, is_unknown (its outcome);
    is_in_force: whether the commit can have reached the coordinator after the last commit in force
    began; in_time: whether also after the last transaction had sent its offsets. Commits whose
    outcome is known are left out if they are not in force or had other metadata than the answer,
    and those of unknown outcome if their generation was over."""
    fenced = of_older_generations(events, UNSURE_OF_GENERATION)
    commits = events.filter(COMMITTED).select(
        *OF_GROUP,
        pl.col("offset").fill_null(NO_POSITION),
        commit_op="op_id",
        begun_ns="t_invoke_ns",
        reached_ns=REACHED_NS,
        is_unknown=~IS_OK,
        beside=pl.when(IS_OK).then("detail"),
    )
    is_in_force = (pl.col("reached_ns") >= pl.col("last_ns")).fill_null(True)
    is_after_sent = (pl.col("reached_ns") >= pl.col("sent_ns")).fill_null(True)
    return (
        fetches.with_columns(pl.col("offset").fill_null(NO_POSITION))
        .join(commits, on=[*OF_GROUP, "offset"])
        .join(fenced.select(*OF_GROUP, commit_op="op_id"), on=[*OF_GROUP, "commit_op"], how="anti")
        .with_columns(is_in_force=is_in_force, in_time=is_in_force & is_after_sent)
        .filter(
            (pl.col("begun_ns") <= pl.col("answered_ns"))
            & (pl.col("is_in_force") | pl.col("is_unknown"))
            & (
                pl.col("begins")
                | pl.col("beside").is_null()
                | (pl.col("beside") == pl.col("detail").fill_null(""))
            )
        )
        .select(*OF_GROUP, "op_id", "commit_op", "is_unknown", "is_in_force", "in_time")
    )
