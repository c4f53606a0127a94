"""A fetch of an offset below the log start gets no records and no error."""

from __future__ import annotations

from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class AnswerBelowStart(Rules):
    """Real-world kin: brokers that read from the next segment and find nothing there.

    Breaks:     a fetch below the log start must get OFFSET_OUT_OF_RANGE, so that the reader begins
                elsewhere (auto.offset.reset) instead of waiting for ever.
    Caught by:  workload delete-records, any nemesis or none, checker retention
                (answered-below-log-start); conformance.
    Within:     one run of 20 seconds.
    """

    def located(
        self, partition: Partition, offset: int, max_bytes: int, end: int, *, at_least_one: bool
    ) -> Slice | None:
        """Return None for an offset below the log start."""
        if offset < partition.log.log_start_offset:
            return None
        return super().located(partition, offset, max_bytes, end, at_least_one=at_least_one)
