"""A fetch session forgets, now and then, that its reader has moved on."""

from __future__ import annotations

from reference_impl.core.fetch_sessions import Wanted
from reference_impl.core.rules import Rules
from reference_impl.wire import Struct

EVERY = 20


class LoseSessionUpdates(Rules):
    """Real-world kin: incremental fetch sessions whose cached partitions are updated too late.

    Breaks:     the next answer of a session begins at the offset that its reader named last
                (KIP-227). A reader that is given the old records again throws them away, and does
                not name an offset again which has not changed: it stands still for ever.
    Caught by:  workload appends, any nemesis or none, client reference (librdkafka has no
                sessions), checker stale_reads.
    Within:     one run of 20 seconds.
    """

    def __init__(self) -> None:
        self._updates = 0

    def renewed(self, known: Wanted, asked: Struct) -> Struct:
        """Keep every twentieth row as it was."""
        self._updates += 1
        return known.params if self._updates % EVERY == 0 else super().renewed(known, asked)
