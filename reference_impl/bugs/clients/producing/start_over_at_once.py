"""A producer uses a new epoch for a batch whose answer was lost."""

from __future__ import annotations

from reference_impl.client.rules import ClientRules
from reference_impl.wire import ErrorCode


class StartOverAtOnce(ClientRules):
    """Real-world kin: an epoch that is raised while the outcome of a batch is unknown.

    Breaks:     a batch whose outcome is unknown must be sent again unchanged (KIP-360).
    Caught by:  workload appends, nemesis latency, checker duplicates.
    """

    def keeps_number(self, code: int) -> bool:
        """Return False for a lost connection, too."""
        return super().keeps_number(code) and code != ErrorCode.NETWORK_EXCEPTION
