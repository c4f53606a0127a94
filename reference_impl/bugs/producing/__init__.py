"""Bugs in the rules of `core/rules/producing.py`: appends, acknowledgements, idempotence."""

from __future__ import annotations

from reference_impl.bugs.bug import FLUSH_EACH, Bug, Kind
from reference_impl.bugs.producing.accept_zombie_writes import AcceptZombieWrites
from reference_impl.bugs.producing.acknowledge_before_append import (
    AcknowledgeBeforeAppend,
    LateNode,
)
from reference_impl.bugs.producing.acknowledge_before_flush import AcknowledgeBeforeFlush
from reference_impl.bugs.producing.answer_retries_with_newest import AnswerRetriesWithNewest
from reference_impl.bugs.producing.break_at_sequence_wrap import BreakAtSequenceWrap
from reference_impl.bugs.producing.drop_headers_in_recompression import DropHeadersInRecompression
from reference_impl.bugs.producing.drop_unawaited_batches import DropUnawaitedBatches
from reference_impl.bugs.producing.empty_nulls_in_recompression import EmptyNullsInRecompression
from reference_impl.bugs.producing.forget_producers_at_roll import ForgetProducersAtRoll
from reference_impl.bugs.producing.keep_times_of_compressed import KeepTimesOfCompressed
from reference_impl.bugs.producing.match_across_epochs import MatchAcrossEpochs
from reference_impl.bugs.producing.match_first_sequences import MatchFirstSequences
from reference_impl.bugs.producing.match_last_sequences import MatchLastSequences
from reference_impl.bugs.producing.remember_newest_batch import RememberNewestBatch
from reference_impl.bugs.producing.reuse_producer_ids import ReuseProducerIds
from reference_impl.bugs.producing.round_times import RoundTimes
from reference_impl.bugs.producing.stamp_cached_times import StampCachedTimes
from reference_impl.bugs.producing.stamp_first_epoch import StampFirstEpoch

__all__ = ["PRODUCING_BUGS"]

PRODUCING_BUGS: dict[str, Bug] = {
    "round-times": Bug(
        RoundTimes,
        Kind.RECORD,
        ("phantom_records",),
        config={"log.message.timestamp.type": "CreateTime"},
    ),
    "keep-times-of-compressed": Bug(
        KeepTimesOfCompressed,
        Kind.RECORD,
        ("timestamp_types",),
        workload="appends-mixed",
        config={"log.message.timestamp.type": "LogAppendTime"},
    ),
    "stamp-cached-times": Bug(
        StampCachedTimes,
        Kind.RECORD,
        ("timestamp_types",),
        config={"log.message.timestamp.type": "LogAppendTime"},
    ),
    "drop-headers-in-recompression": Bug(
        DropHeadersInRecompression,
        Kind.RECORD,
        ("phantom_records",),
        workload="appends-mixed",
        config={"compression.type": "lz4"},
    ),
    "empty-nulls-in-recompression": Bug(
        EmptyNullsInRecompression,
        Kind.RECORD,
        ("phantom_records",),
        workload="appends-mixed",
        config={"compression.type": "zstd"},
    ),
    "stamp-first-epoch": Bug(
        StampFirstEpoch, Kind.RECORD, ("leader_epochs",), workload="transactions", nemesis="kill"
    ),
    "accept-zombie-writes": Bug(
        AcceptZombieWrites,
        Kind.RARE,
        ("fencing",),
        workload="zombies",
        cases="test_an_older_epoch_is_fenced",
    ),
    "answer-retries-with-newest": Bug(
        AnswerRetriesWithNewest, Kind.RARE, ("inconsistent_offsets",), nemesis="reset"
    ),
    "remember-newest-batch": Bug(RememberNewestBatch, Kind.RARE, ("duplicates",), nemesis="reset"),
    "match-first-sequences": Bug(
        MatchFirstSequences,
        Kind.RARE,
        ("inconsistent_offsets", "lost_writes"),
        workload="sequences",
    ),
    "match-last-sequences": Bug(
        MatchLastSequences, Kind.RARE, ("inconsistent_offsets", "lost_writes"), workload="sequences"
    ),
    "match-across-epochs": Bug(
        MatchAcrossEpochs, Kind.RARE, ("inconsistent_offsets", "lost_writes"), workload="zombies"
    ),
    "break-at-sequence-wrap": Bug(
        BreakAtSequenceWrap,
        Kind.RARE,
        ("idempotence",),
        workload="sequences",
        cases="test_the_sequence_wraps_to_zero",
    ),
    "reuse-producer-ids": Bug(
        ReuseProducerIds,
        Kind.RARE,
        ("fencing", "inconsistent_offsets", "idempotence"),
        workload="sequences",
        nemesis="kill",
    ),
    "acknowledge-before-flush": Bug(
        AcknowledgeBeforeFlush,
        Kind.RARE,
        ("lost_writes",),
        nemesis="power-loss-all",
        config=FLUSH_EACH,
    ),
    "acknowledge-before-append": Bug(
        AcknowledgeBeforeAppend,
        Kind.SHOWN,
        ("lost_writes", "inconsistent_offsets"),
        nemesis="kill",
        node=LateNode,
    ),
    "forget-producers-at-roll": Bug(
        ForgetProducersAtRoll,
        Kind.SHOWN,
        ("duplicates",),
        nemesis="reset",
        config={"log.roll.ms": "200"},
    ),
    "drop-unawaited-batches": Bug(
        DropUnawaitedBatches, Kind.SHOWN, ("delivery_semantics",), workload="appends-acks1"
    ),
}
