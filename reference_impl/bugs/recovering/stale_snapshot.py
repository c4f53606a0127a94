"""A restarted broker restores its producers from the last snapshot without replaying the log after
it."""

from __future__ import annotations

from reference_impl.core.log.producers.recovery import ProducerRecovery
from reference_impl.core.rules import Rules


class StaleSnapshot(Rules):
    """Real-world kin: brokers which load a snapshot and forget to replay the log behind it.

    Breaks:     a batch sent again must be answered, not appended twice (KIP-98), if it was appended
                after the last segment was closed, and a restart lies in between.
    Caught by:  workload appends, nemesis kill (which holds back answers before the kill, so that
                clients must send again after it), config log.roll.ms=500 (segments, and so
                snapshots, that are young), checker duplicates.
    Within:     one run of 30 seconds.
    """

    def replay_after_snapshot(self, recovery: ProducerRecovery, taken_at: int) -> None:
        """Trust the snapshot, and replay nothing after it."""
