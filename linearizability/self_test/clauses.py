"""The promises of each checker, clause by clause, and the mutators that break each clause.

A clause says when a history is invalid, as docs/guarantees.md tells it to the reader (its table of
clauses is made from here). Every checker has one at least, and no clause is without a mutator: a
rule that was never seen broken may be blind. A mutator breaks the clause that lists it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from linearizability.self_test import (
    end_mutators,
    fencing_mutators,
    group_mutators,
    kept_mutators,
    late_mutators,
    log_mutators,
    mutators,
    rarer_mutators,
    reader_mutators,
    record_mutators,
    service_mutators,
    transaction_mutators,
)
from linearizability.self_test.world import Row

Mutator = Callable[[list[Row], Random], list[Row] | None]


class Clause(NamedTuple):
    """Mutators that break a clause, and the kinds of anomaly of which one must be found then."""

    kinds: frozenset[str]
    mutators: tuple[Mutator, ...]


def _by(kinds: str, *mutators: Mutator) -> Clause:
    return Clause(frozenset(kinds.split()), mutators)


CLAUSES: Mapping[str, Mapping[str, Clause]] = {
    "lost_writes": {
        "an acknowledged record is absent below the highest offset read": _by(
            "lost-write", mutators.lose_a_record
        ),
        "a record that a reader received is absent from a later read of the whole log": _by(
            "vanished-record", rarer_mutators.cut_the_tail
        ),
        "a record is absent from a final read that began after its acknowledgement": _by(
            "vanished-record lost-write", rarer_mutators.cut_what_was_acknowledged
        ),
    },
    "unseen_writes": {
        "no poll delivered an acknowledged record by the end of the final read": _by(
            "unseen-write", mutators.never_deliver
        )
    },
    "duplicates": {
        "a record that an idempotent producer sent once is stored at two offsets": _by(
            "duplicate", mutators.store_twice
        )
    },
    "inconsistent_offsets": {
        "one offset holds two values": _by("inconsistent-offset", mutators.show_two_faces),
        "a record's key, headers or timestamp differ between two reads": _by(
            "record-changed", record_mutators.change_a_record
        ),
    },
    "phantom_records": {
        "a record read was never sent, was sent elsewhere, or is unreadable": _by(
            "phantom-record wrong-partition unreadable-record", mutators.read_from_nowhere
        ),
        "a record is read although its send certainly failed": _by(
            "refused-record", rarer_mutators.store_what_was_refused
        ),
        "a record is read with a key, headers or timestamp that were not sent": _by(
            "altered-record", record_mutators.alter_a_record
        ),
    },
    "append_order": {
        "a record sent after another's acknowledgement gets a lower offset": _by(
            "append-order", mutators.reorder_appends
        ),
        "two records are acknowledged at one offset": _by(
            "same-offset", rarer_mutators.acknowledge_twice
        ),
        "a record is sent after a poll was given its offset or a later one": _by(
            "read-before-append", late_mutators.append_below_what_was_read
        ),
    },
    "producer_order": {
        "an idempotent producer's records are stored in another order than sent": _by(
            "sends-reordered sequence-goes-back", mutators.reorder_a_batch
        )
    },
    "poll_order": {
        "a consumer goes back or repeats within a session": _by(
            "poll-repeats poll-goes-back", mutators.go_back
        )
    },
    "poll_skips": {
        "a consumer skips a visible record within a session": _by(
            "poll-skip", mutators.skip_a_record
        ),
        "a consumer begins after the offset that it asked for": _by(
            "poll-skip", reader_mutators.ignore_a_rewind
        ),
        "a consumer begins before the offset that it asked for": _by(
            "begins-early", reader_mutators.begin_too_early
        ),
        "a look-up of the earliest offset answers one above the log start": _by(
            "begins-late", reader_mutators.begin_above_the_start
        ),
        "a look-up by timestamp answers a later record than the first match": _by(
            "wrong-look-up", reader_mutators.look_up_too_late
        ),
    },
    "aborted_reads": {
        "a read_committed reader receives an aborted record": _by(
            "aborted-read", mutators.deliver_an_aborted_record
        )
    },
    "dirty_reads": {
        "a read_committed reader receives a record before EndTxn asked to commit it": _by(
            "dirty-read", mutators.read_too_early
        )
    },
    "own_uncommitted_reads": {
        "a transaction reads its own uncommitted record": _by(
            "own-uncommitted-read", mutators.read_its_own
        )
    },
    "group_delivery": {
        "a group skips a visible record": _by("group-skip", mutators.skip_in_a_group)
    },
    "exactly_once": {
        "two committed transactions of a group consumed one input": _by(
            "consumed-twice", mutators.consume_twice
        ),
        "a group moves past an input that only aborted transactions consumed": _by(
            "consumed-never", transaction_mutators.lose_an_effect
        ),
    },
    "leader_epochs": {
        "leader epochs decrease along a log": _by("epoch-goes-back", mutators.lower_an_epoch)
    },
    "torn_transactions": {
        "readers received one record of a transaction but skipped another": _by(
            "torn-transaction", transaction_mutators.deliver_half
        ),
        "one partition of a transaction has a COMMIT marker, another ABORT": _by(
            "torn-transaction", transaction_mutators.abort_half
        ),
    },
    "ends_honoured": {
        "a commit was acknowledged, but a partition has an ABORT marker": _by(
            "committed-but-not", end_mutators.abort_a_committed
        ),
        "a commit was acknowledged, but the offsets are not in force": _by(
            "committed-but-not", end_mutators.forget_the_offsets
        ),
        "only an abort was asked for and acknowledged, but there is a COMMIT marker": _by(
            "aborted-but-committed", end_mutators.commit_an_aborted
        ),
        "only an abort was asked for and acknowledged, but the offsets are in force": _by(
            "aborted-but-committed", end_mutators.keep_aborted_offsets
        ),
        "the producer never asked to commit, but there is a COMMIT marker": _by(
            "committed-unasked", end_mutators.commit_unasked
        ),
        "the last stable offset passed a record without a marker": _by(
            "no-marker", end_mutators.leave_without_a_marker
        ),
        "a record joins a transaction after its end was acknowledged": _by(
            "joined-after-its-end",
            end_mutators.join_after_the_end,
            end_mutators.arrive_after_the_end,
        ),
        "the end is unknown, and only one of records and offsets is committed": _by(
            "torn-offsets", end_mutators.tear_the_offsets
        ),
    },
    "write_cycles": {
        "read_committed transactions read each other before their commits": _by(
            "read-cycle", transaction_mutators.read_each_other
        ),
        "a transaction reads a record whose commit was invoked after its own was acknowledged": _by(
            "read-cycle-realtime read-cycle", rarer_mutators.read_in_a_circle_of_time
        ),
    },
    "offset_gaps": {
        "a raw read shows a gap without compaction": _by("offset-gap", log_mutators.leave_a_hole),
        "a complete raw read lacks the last records below its high watermark": _by(
            "offset-gap", log_mutators.end_a_read_early
        ),
    },
    "fencing": {
        "a log holds an older epoch of a producer behind a newer one": _by(
            "fenced-epoch-writes", log_mutators.write_though_fenced
        ),
        "a record is sent in an older epoch than one acknowledged on another partition": _by(
            "zombie-writes", fencing_mutators.write_elsewhere_though_fenced
        ),
        "a record is sent in an older epoch than InitProducerId had returned": _by(
            "zombie-writes", fencing_mutators.write_after_a_successor
        ),
        "an offset is committed in an older epoch than InitProducerId had returned": _by(
            "zombie-commits-offsets", fencing_mutators.commit_offsets_though_fenced
        ),
        "a transaction is ended in an older epoch than InitProducerId had returned": _by(
            "zombie-ends", fencing_mutators.end_though_fenced
        ),
        "InitProducerId returns an epoch that was known before": _by(
            "reused-epoch", fencing_mutators.give_an_epoch_again
        ),
        "InitProducerId accepts an older epoch from a producer that wants to go on": _by(
            "zombie-rejoins", fencing_mutators.rejoin_though_fenced
        ),
    },
    "idempotence": {
        "a producer's sequence number does not follow the one before it": _by(
            "sequence-does-not-follow", log_mutators.skip_a_sequence
        ),
        "a batch that follows the one before it is refused as out of order": _by(
            "in-order-refused", late_mutators.refuse_in_order
        ),
    },
    "late_markers": {
        "a marker lies between two records of one transaction": _by(
            "late-marker", log_mutators.end_too_early
        )
    },
    "high_watermark": {
        "a leader's high watermark or last stable offset goes back in an epoch": _by(
            "high-watermark-goes-back last-stable-offset-goes-back beyond-the-high-watermark",
            log_mutators.lower_a_watermark,
        ),
        "a leader's log start goes back in an epoch": _by(
            "log-start-goes-back", rarer_mutators.lower_the_log_start
        ),
    },
    "hanging_transactions": {
        "the last stable offset stays at the first offset of an ended transaction": _by(
            "ended-but-open", log_mutators.hang_on
        ),
        "in the final phase it stays for a minute after an acknowledged end": _by(
            "open-for-too-long", log_mutators.hang_after_the_end
        ),
        "in the final phase it stays longer than any producer's transaction.timeout.ms": _by(
            "open-for-too-long", log_mutators.hang_beyond_the_time_out
        ),
        "a commit is accepted although the transaction had timed out": _by(
            "committed-too-late", late_mutators.commit_too_late
        ),
    },
    "committed_offsets": {
        "a group gets an offset that no commit explains, or none after a commit": _by(
            "unexplained-offset forgotten-offset", kept_mutators.forget_a_commit
        ),
        "a commit in an older generation is accepted": _by(
            "old-generation-commits",
            kept_mutators.commit_for_a_past_generation,
            kept_mutators.commit_for_its_own_past,
        ),
        "a member commits after its successor within a generation": _by(
            "two-owners", kept_mutators.commit_after_a_successor
        ),
        "a group gets an offset while the transaction that sent it is undecided": _by(
            "told-while-undecided", late_mutators.tell_while_undecided
        ),
        "a group is told that an offset is not stable although all transactions have ended": _by(
            "undecided-for-ever", late_mutators.stay_undecided_for_ever
        ),
    },
    "replica_agreement": {
        "a follower lacks a replicated record": _by(
            "replica-lacks-records", kept_mutators.lose_on_a_follower
        ),
        "a follower has a different batch from the leader's": _by(
            "replica-differs",
            kept_mutators.differ_on_a_follower,
            kept_mutators.differ_in_another_reading,
        ),
        "a follower has a replicated record that its leader lacks": _by(
            "replica-has-more-records", rarer_mutators.keep_on_a_follower
        ),
    },
    "compaction": {
        "the last value of a key is gone": _by("last-value-lost", kept_mutators.clean_too_much),
        "a key's last tombstone is gone before delete.retention.ms": _by(
            "tombstone-lost-early tombstone-lost-hours-early",
            rarer_mutators.remove_a_tombstone_early,
            rarer_mutators.remove_a_tombstone_hours_early,
        ),
        "a tombstone is gone, but a value that it had removed is back": _by(
            "key-resurrected", kept_mutators.bring_back_a_key
        ),
        "a record is stored at another offset than it was acknowledged at": _by(
            "record-moved", rarer_mutators.move_a_record
        ),
    },
    "retention": {
        "the log start passes a record that nothing may delete": _by(
            "deleted-though-kept deleted-hours-too-early deleted-too-early",
            kept_mutators.delete_too_much,
            rarer_mutators.delete_too_early,
        ),
        "a leader reports a lower log start than it answered DeleteRecords with": _by(
            "log-start-goes-back", rarer_mutators.take_a_deletion_back
        ),
        "a log keeps a record for longer than its settings and the looks of brokers take": _by(
            "kept-too-long", late_mutators.keep_too_long
        ),
        "a log becomes shorter than retention.bytes": _by(
            "deleted-below-size", late_mutators.delete_below_size
        ),
    },
    "timestamp_types": {
        "a record's timestamp is not of the type that message.timestamp.type names": _by(
            "wrong-timestamp-type", record_mutators.stamp_as_the_sender_did
        )
    },
    "stale_reads": {
        "a polling reader does not receive a readable record within the bound": _by(
            "stale-read", service_mutators.keep_waiting
        )
    },
    "group_liveness": {
        "no live member owns a partition for longer than a rebalance may take": _by(
            "partition-without-owner", group_mutators.orphan_a_partition
        ),
        "a live member owns nothing for as long, though partitions outnumber members": _by(
            "member-without-part", group_mutators.leave_a_member_idle
        ),
        "a group receives none of the waiting records for as long": _by(
            "group-starved", group_mutators.starve_a_group
        ),
        "two members own one partition in one generation": _by(
            "assigned-twice", group_mutators.assign_twice
        ),
    },
    "delivery_semantics": {
        "a complete read lacks a record promised at least once": _by(
            "not-delivered", service_mutators.read_too_little
        ),
        "a complete read contains twice a record promised at most once": _by(
            "delivered-twice", service_mutators.read_it_twice
        ),
    },
}
"""Checker -> when it calls a history invalid -> what plants that."""

MUTATORS: Mapping[str, Mapping[Mutator, frozenset[str]]] = {
    name: {mutate: clause.kinds for clause in clauses.values() for mutate in clause.mutators}
    for name, clauses in CLAUSES.items()
}
"""Checker -> what it must catch, and as which kinds."""


def broken(name: str, rows: list[Row], rng: Random) -> list[Row] | None:
    """Return the history (`model.rows_with_truth`) with one anomaly that checker `name` must find,
    or None if there is no room."""
    return rng.choice([*MUTATORS[name]])(rows, rng)


def markdown_table() -> str:
    """Return the table of docs/guarantees.md."""
    lines = ["| guarantee | invalid when | found as | planted by |", "|---|---|---|---|"]
    for name, clauses in CLAUSES.items():
        for text, clause in clauses.items():
            kinds = ", ".join(f"`{kind}`" for kind in sorted(clause.kinds))
            planted = ", ".join(f"`{mutate.__name__}`" for mutate in clause.mutators)
            lines.append(f"| `{name}` | {text} | {kinds} | {planted} |")
    return "\n".join(lines)


def empty_rows(names: list[str]) -> list[str]:
    """Return a sentence for each checker without a clause and each clause without a mutator."""
    without = [
        f"{name} has no clause in self_test/clauses.py" for name in names if not CLAUSES.get(name)
    ]
    return without + [
        f"{name}: no mutator plants {text!r}"
        for name, clauses in CLAUSES.items()
        for text, clause in clauses.items()
        if not clause.mutators
    ]
