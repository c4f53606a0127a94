"""A producer takes a new epoch for a batch whose answer was lost."""

from __future__ import annotations

from reference_impl.client.producing.accumulator import Batch
from reference_impl.client.producing.sequences import Sequences
from reference_impl.client.rules import ClientRules
from reference_impl.wire import ErrorCode


class StartOverAtOnce(ClientRules):
    """Real-world kin: an epoch that is bumped while the fate of a batch is open.

    Breaks:     a batch whose fate is open is sent again as it was (KIP-360).
    Caught by:  workload appends, nemesis latency,
                checker duplicates.
    """

    def may_be_sent_again(
        self,
        sequences: Sequences,
        batch: Batch,
        code: int,
        log_start_offset: int,
        is_transactional: bool,
    ) -> bool:
        """Return True after a lost connection, and let the partition start over."""
        if code == ErrorCode.NETWORK_EXCEPTION and not is_transactional:
            sequences.want_new_epoch(batch.partition)
            return True
        return super().may_be_sent_again(sequences, batch, code, log_start_offset, is_transactional)
