"""Bugs in the rules of `core/rules/recovering.py`: syncs, restarts, snapshots of producers."""

from __future__ import annotations

from reference_impl.bugs.bug import FLUSH_EACH, Bug, Kind
from reference_impl.bugs.recovering.forget_epochs_in_snapshots import ForgetEpochsInSnapshots
from reference_impl.bugs.recovering.forget_open_transactions import ForgetOpenTransactions
from reference_impl.bugs.recovering.forget_producer_state_on_restart import (
    ForgetProducerStateOnRestart,
)
from reference_impl.bugs.recovering.keep_torn_tail import KeepTornTail
from reference_impl.bugs.recovering.snapshot_without_producer_ids import SnapshotWithoutProducerIds
from reference_impl.bugs.recovering.stale_snapshot import StaleSnapshot
from reference_impl.bugs.recovering.stop_without_sync import StopWithoutSync
from reference_impl.bugs.recovering.trust_failed_syncs import TrustFailedSyncs
from reference_impl.bugs.recovering.trust_index_after_crash import TrustIndexAfterCrash

__all__ = ["RECOVERING_BUGS"]

RECOVERING_BUGS: dict[str, Bug] = {
    "keep-torn-tail": Bug(
        KeepTornTail,
        Kind.RECORD,
        ("phantom_records", "lost_writes"),
        workload="appends-mixed",
        nemesis="torn-writes",
        config=FLUSH_EACH,
        client="reference",
    ),
    "stop-without-sync": Bug(
        StopWithoutSync, Kind.RARE, ("lost_writes",), nemesis="power-loss-when-shut"
    ),
    "trust-failed-syncs": Bug(
        TrustFailedSyncs, Kind.RARE, ("lost_writes",), nemesis="failed-syncs", config=FLUSH_EACH
    ),
    "trust-index-after-crash": Bug(
        TrustIndexAfterCrash,
        Kind.RARE,
        ("inconsistent_offsets",),
        nemesis="reordered-writes",
        config={**FLUSH_EACH, "log.index.interval.bytes": "0"},
    ),
    "forget-producer-state-on-restart": Bug(
        ForgetProducerStateOnRestart, Kind.SHOWN, ("duplicates",), nemesis="kill"
    ),
    "forget-epochs-in-snapshots": Bug(
        ForgetEpochsInSnapshots,
        Kind.SHOWN,
        ("duplicates",),
        workload="sequences",
        nemesis="rolling-restart",
    ),
    "forget-open-transactions": Bug(
        ForgetOpenTransactions,
        Kind.SHOWN,
        ("aborted_reads", "dirty_reads"),
        workload="transactions",
        nemesis="rolling-restart",
    ),
    "snapshot-without-producer-ids": Bug(
        SnapshotWithoutProducerIds,
        Kind.RARE,
        ("fencing", "inconsistent_offsets", "idempotence"),
        workload="sequences",
        nemesis="kill",
        config={"metadata.log.max.record.bytes.between.snapshots": "2000"},
    ),
    "stale-snapshot": Bug(
        StaleSnapshot, Kind.SHOWN, ("duplicates",), nemesis="kill", config={"log.roll.ms": "500"}
    ),
}
