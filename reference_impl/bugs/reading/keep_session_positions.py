"""A fetch session does not go back when its reader asks for a lower offset."""

from __future__ import annotations

from reference_impl.core.partitions.fetch_sessions import Wanted
from reference_impl.core.rules import Rules
from reference_impl.wire import Struct


class KeepSessionPositions(Rules):
    """Real-world kin: cached partitions of incremental fetch sessions that only move forward.

    Breaks:     the next answer of a session must begin at the offset in the reader's last request
                (KIP-227; FetchSession.update).
    Caught by:  workload seeks, any nemesis or none, client reference (librdkafka has no sessions),
                checker poll_skips: the first record after a seek is not the one that was sought.
    Within:     one run of 20 seconds.
    """

    def renewed(self, known: Wanted, asked: Struct) -> Struct:
        """Return the session's old row if its fetch offset is the higher one."""
        is_behind = asked.fetch_offset < known.params.fetch_offset
        return known.params if is_behind else super().renewed(known, asked)
