"""A restarted broker knows its producers from the snapshot of its log, but not their epochs."""

from __future__ import annotations

from dataclasses import replace

from reference_impl.core.log.producers.recovery import ProducerRecovery
from reference_impl.core.log.producers.state import NO_EPOCH
from reference_impl.core.rules import Rules


class ForgetEpochsInSnapshots(Rules):
    """Real-world kin: a snapshot whose writer or reader leaves out a field.

    Breaks:     a batch sent again must be answered, not appended twice (KIP-98), if a clean restart
                lies between the first time and the second.
    Caught by:  workload sequences, nemesis rolling-restart, checker duplicates.
    Within:     one run of 30 seconds.
    """

    def restore_producers(self, recovery: ProducerRecovery) -> None:
        """Load the snapshot without the epochs, and add the batches after it."""
        taken_at = recovery.load_snapshot()
        entries = list(recovery.producers.entries())
        recovery.producers.load(replace(entry, producer_epoch=NO_EPOCH) for entry in entries)
        self.replay_after_snapshot(recovery, taken_at)
