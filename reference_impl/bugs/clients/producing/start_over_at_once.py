"""A producer takes a new epoch for a batch whose answer was lost."""

from __future__ import annotations

from reference_impl.client.rules import ClientRules
from reference_impl.wire import ErrorCode


class StartOverAtOnce(ClientRules):
    """Real-world kin: an epoch that is bumped while the fate of a batch is open.

    Breaks:     a batch whose fate is open is sent again as it was (KIP-360).
    Caught by:  workload appends, nemesis latency,
                checker duplicates.
    """

    def keeps_number(self, code: int) -> bool:
        """Return False for a lost connection, too."""
        return super().keeps_number(code) and code != ErrorCode.NETWORK_EXCEPTION
