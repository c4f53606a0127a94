"""The log that holds the cluster's metadata: `__cluster_metadata-0`, in Kafka's own records.

Source: KIP-631 and KIP-595; MetadataRecordSerde.java. With one node there is no quorum to agree
with: a record counts as committed once it is written and synced here.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.replaying import replaying
from reference_impl.wire import (
    Record,
    RecordBatch,
    Struct,
    decode_metadata_record,
    encode_metadata_record,
    read_header,
)

TOPIC = "__cluster_metadata"
TOPIC_ID = UUID(int=1)
"""Uuid.METADATA_TOPIC_ID: reserved, the same in every cluster."""


class MetadataLog:
    """Append records and apply them; replay them after a restart."""

    def __init__(self, directory: LogDirectory, now_ms: int) -> None:
        self.image = MetadataImage()
        self.log = directory.open_log(TOPIC, 0, TOPIC_ID, LogConfig(), now_ms)
        self.log.high_watermark = self.log.log_end_offset
        last = self.log.latest_epoch
        self.epoch = 1 if last is None else last + 1
        self._replay()

    def _replay(self) -> None:
        """Let the image say what the log says."""
        for data in self.log.batches():
            batch = RecordBatch.decode(data)[0]
            with replaying(self.log.directory, batch.base_offset):
                for record in batch.records:
                    if record.value is not None:
                        self.image.apply(decode_metadata_record(record.value)[1])

    @property
    def end_offset(self) -> int:
        """The number of records in the cluster's metadata log."""
        return self.log.log_end_offset

    def append(self, records: Sequence[Struct], now_ms: int) -> None:
        """Make these records part of history, all or none, then let the image follow."""
        batch = RecordBatch(
            [Record(encode_metadata_record(record)) for record in records], base_timestamp=now_ms
        )
        data = bytearray(batch.encode())
        self.log.append(data, read_header(data), self.epoch, now_ms)
        self.log.flush()
        self.log.high_watermark = self.log.log_end_offset
        for record in records:
            self.image.apply(record)
