"""A restarted broker no longer knows which transactions were open when it stopped cleanly."""

from __future__ import annotations

from dataclasses import replace

from reference_impl.core.log.producers.recovery import ProducerRecovery
from reference_impl.core.rules import Rules


class ForgetOpenTransactions(Rules):
    """Real-world kin: a snapshot whose writer or reader leaves out a field.

    Breaks:     the last stable offset must stay at the first record of an open transaction, and
                read_committed readers must drop the records of aborted ones (KIP-98), if a clean
                restart lies between their records and their marker.
    Caught by:  workload transactions, nemesis rolling-restart, checkers aborted_reads, dirty_reads.
    Within:     one run of 30 seconds.
    """

    def restore_producers(self, recovery: ProducerRecovery) -> None:
        """Load the snapshot without the open transactions, and add the batches after it."""
        taken_at = recovery.load_snapshot()
        entries = list(recovery.producers.entries())
        recovery.producers.load(replace(entry, current_txn_first_offset=None) for entry in entries)
        self.replay_after_snapshot(recovery, taken_at)
