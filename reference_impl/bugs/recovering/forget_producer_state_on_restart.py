"""A restarted broker no longer knows which batches each producer has sent."""

from __future__ import annotations

from reference_impl.core.log.producers.recovery import ProducerRecovery
from reference_impl.core.rules import Rules


class ForgetProducerStateOnRestart(Rules):
    """Real-world kin: brokers which keep the state of idempotent producers in memory only.

    Breaks:     a batch sent again must be answered, not appended twice (KIP-98), if a restart lies
                between the first time and the second.
    Caught by:  workload appends, nemesis kill (which holds back answers before the kill, so that
                clients must send again after it), checker duplicates.
    Within:     one run of 30 seconds.
    """

    def restore_producers(self, recovery: ProducerRecovery) -> None:
        """Restore nothing, so that the log has no producers."""
