"""A member begins one record after the committed offset of its group."""

from __future__ import annotations

from reference_impl.client.rules import ClientRules
from reference_impl.wire import Struct


class BeginPastCommit(ClientRules):
    """Real-world kin: treating the committed offset as that of the last record that was read.

    Breaks:     a consumer must begin at the committed offset, which is the next record's.
    Caught by:  workload groups-positions, any nemesis or none, checkers committed_offsets and
                group_delivery.
    """

    def committed_at(self, row: Struct) -> int:
        """Return the committed offset plus one."""
        offset = super().committed_at(row)
        return offset + 1 if offset >= 0 else offset
