"""One partition as its leader sees it: a log, who leads, who follows, and what is committed."""

from __future__ import annotations

from uuid import UUID

from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.partition_log import AppendResult, PartitionLog
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode


class Partition:
    """A replica that leads. `state` is the controller's word on who leads and who is in sync."""

    def __init__(
        self, topic: str, index: int, topic_id: UUID, state: PartitionImage, log: PartitionLog
    ) -> None:
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.state = state
        self.log = log

    @property
    def leader_epoch(self) -> int:
        """The number of this leadership, which every batch carries (KIP-101)."""
        return self.state.leader_epoch

    @property
    def config(self) -> LogConfig:
        """The configuration in force."""
        return self.log.config

    @property
    def high_watermark(self) -> int:
        """The first offset that is not committed; consumers see only records below it."""
        return self.log.high_watermark

    def append(self, batch: ValidatedBatch, now_ms: int) -> AppendResult:
        """Write one batch at the end of the log, under the current leader epoch."""
        result = self.log.append(batch.data, batch.header, self.leader_epoch, now_ms)
        self.advance_high_watermark()
        return result

    def advance_high_watermark(self) -> None:
        """Set the high watermark to the log end: the smallest log end offset in the ISR, which is
        ours alone."""
        self.log.high_watermark = self.log.log_end_offset

    def check_leader_epoch(self, current: int) -> None:
        """Raise Refused unless the client's leader epoch is ours, or -1, unknown (KIP-320)."""
        if current in (-1, self.leader_epoch):
            return
        if current < self.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH)
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH)
