"""Planted bugs, by name: one file each, overriding one decision of a correct broker.

They are the proof that the judges work: each says what it breaks and what must catch it.
"""

from __future__ import annotations

from reference_impl.bugs.accept_old_generations import AcceptOldGenerations
from reference_impl.bugs.acknowledge_before_append import AcknowledgeBeforeAppend, LateNode
from reference_impl.bugs.acknowledge_before_flush import AcknowledgeBeforeFlush
from reference_impl.bugs.admit_fenced_instances import AdmitFencedInstances
from reference_impl.bugs.bug import Bug
from reference_impl.bugs.compact_newest_away import CompactNewestAway
from reference_impl.bugs.compact_open_transactions import CompactOpenTransactions
from reference_impl.bugs.delete_records_too_far import DeleteRecordsTooFar
from reference_impl.bugs.delete_young_segments import DeleteYoungSegments
from reference_impl.bugs.drop_tombstones_early import DropTombstonesEarly
from reference_impl.bugs.drop_unawaited_batches import DropUnawaitedBatches
from reference_impl.bugs.forget_deletions import ForgetDeletions
from reference_impl.bugs.forget_producer_state_on_restart import ForgetProducerStateOnRestart
from reference_impl.bugs.give_before_released import GiveBeforeReleased
from reference_impl.bugs.give_parts_twice import GivePartsTwice
from reference_impl.bugs.hide_aborted_transactions import HideAbortedTransactions
from reference_impl.bugs.keep_torn_tail import KeepTornTail
from reference_impl.bugs.lose_commits import LoseCommits
from reference_impl.bugs.serve_undecided_records import ServeUndecidedRecords
from reference_impl.bugs.stale_snapshot import StaleSnapshot
from reference_impl.bugs.trust_index_after_crash import TrustIndexAfterCrash

FLUSH_EACH = {"log.flush.interval.messages": "1"}
BUGS: dict[str, Bug] = {
    "acknowledge-before-append": Bug(AcknowledgeBeforeAppend, LateNode),
    "acknowledge-before-flush": Bug(
        AcknowledgeBeforeFlush, nemesis="power-loss-all", config=FLUSH_EACH
    ),
    "forget-producer-state-on-restart": Bug(ForgetProducerStateOnRestart),
    "hide-aborted-transactions": Bug(HideAbortedTransactions, workload="transactions"),
    "keep-torn-tail": Bug(
        KeepTornTail,
        workload="appends-mixed",
        nemesis="torn-writes",
        config=FLUSH_EACH,
        client="reference",
    ),
    "stale-snapshot": Bug(StaleSnapshot, config={"log.roll.ms": "500"}),
    "trust-index-after-crash": Bug(
        TrustIndexAfterCrash,
        nemesis="torn-writes",
        config={**FLUSH_EACH, "log.index.interval.bytes": "0"},
    ),
    # --- what is promised of less, and of what is deleted --------------------------------------
    "drop-unawaited-batches": Bug(DropUnawaitedBatches, workload="appends-acks1", nemesis="none"),
    "delete-young-segments": Bug(DeleteYoungSegments, workload="retention", nemesis="none"),
    "delete-records-too-far": Bug(DeleteRecordsTooFar, workload="delete-records", nemesis="none"),
    "forget-deletions": Bug(ForgetDeletions, workload="delete-records", nemesis="none"),
    "compact-newest-away": Bug(CompactNewestAway, workload="compaction", nemesis="none"),
    "drop-tombstones-early": Bug(DropTombstonesEarly, workload="compaction", nemesis="none"),
    "compact-open-transactions": Bug(
        CompactOpenTransactions, workload="compaction-transactions", nemesis="none"
    ),
    # --- groups -------------------------------------------------------------------------------
    "accept-old-generations": Bug(
        AcceptOldGenerations, workload="groups-positions", nemesis="none"
    ),
    "admit-fenced-instances": Bug(
        AdmitFencedInstances, workload="groups-static-positions", nemesis="none"
    ),
    "give-parts-twice": Bug(GivePartsTwice, workload="groups-positions", nemesis="none"),
    "give-before-released": Bug(
        GiveBeforeReleased, workload="groups-consumer-positions", nemesis="none"
    ),
    "lose-commits": Bug(LoseCommits, workload="offsets"),
    # --- transactions -------------------------------------------------------------------------
    "serve-undecided-records": Bug(ServeUndecidedRecords, workload="transactions", nemesis="none"),
}
