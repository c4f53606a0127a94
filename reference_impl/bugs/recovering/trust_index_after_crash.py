"""After a crash, recovery takes the log's end from the offset index instead of from the batches."""

from __future__ import annotations

from reference_impl.core.log.recovery.recovery import Loaded, Opening
from reference_impl.core.log.segments.segment import Segment
from reference_impl.core.rules import Rules


class TrustIndexAfterCrash(Rules):
    """Real-world kin: a start that is quick because it reads only what follows the last entry of
    the index, and sanity checks of indexes that were removed for the same reason.

    Breaks:     an offset must be given to one record only (design#log). The disk may have an entry
                of the index but not the batch to which it points: then the log ends before that
                batch, and offsets are assigned a second time.
    Caught by:  workload appends, nemesis reordered-writes, config
                log.flush.interval.messages=1 and log.index.interval.bytes=0, checker
                inconsistent_offsets. No kill shows it.
    Within:     one run of 20 seconds.
    """

    def recover_unsynced(
        self, opening: Opening, loaded: Loaded, segment: Segment, following: int | None
    ) -> int:
        """Return the next offset: that of the following segment or, in the last one, what is found
        behind the last entry of its index."""
        return segment.read_next_offset() if following is None else following
