"""A clean shutdown writes its marker file without syncing the logs."""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.core.rules import Rules


class StopWithoutSync(Rules):
    """Real-world kin: shutdowns that rely on the file system, and a marker that is synced before
    the data that it vouches for.

    Breaks:     after a clean shutdown a loss of power must lose nothing, since every log was synced
                (LogManager.shutdown).
    Caught by:  workload appends, nemesis power-loss-when-shut, checker lost_writes. Neither a kill
                nor a clean restart shows it.
    Within:     one run of 30 seconds.
    """

    def sync_at_shutdown(self, flush: Callable[[], None]) -> None:
        """Flush nothing, and leave the pages to the file system."""
