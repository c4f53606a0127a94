"""What a broker decides about the files that it finds when it starts."""

from __future__ import annotations

from reference_impl.core.log.recovery import Beliefs


class Recovering:
    """How far files are trusted after a clean stop, a kill and a loss of power."""

    def restores_producer_state(self) -> bool:
        """A restarted leader still knows which batches it has (KIP-98; ProducerStateManager)."""
        return True

    def replays_after_snapshot(self) -> bool:
        """A snapshot of the producers is as old as its segment: what the log has after it counts,
        too (ProducerStateManager.truncateAndReload, UnifiedLog.rebuildProducerState).
        """
        return True

    def checks_batches_after_crash(self) -> bool:
        """A batch stays in the log only with the CRC that it was written with; the rest of the
        tail is torn, and cut off (LogSegment.recover).
        """
        return True

    def rebuilds_indexes_after_crash(self) -> bool:
        """An index may be on the medium where its log is not, and tells then of batches which are
        not there: after a crash it is written anew from the log (LogLoader.recoverLog).
        """
        return True

    def beliefs(self) -> Beliefs:
        """What the log asks when it is opened (`core/log/recovery.py`)."""
        return Beliefs(
            self.restores_producer_state(),
            self.replays_after_snapshot(),
            self.checks_batches_after_crash(),
            self.rebuilds_indexes_after_crash(),
        )
