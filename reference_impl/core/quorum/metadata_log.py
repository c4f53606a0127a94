"""The log that holds the cluster's metadata: `__cluster_metadata-0`, in Kafka's own records.

Source: KIP-631 and KIP-595; MetadataRecordSerde.java, RaftClient.java (Listener). The quorum has
one voter, this node: its log end is the high watermark as soon as it has synced what it wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.replaying import replaying
from reference_impl.core.quorum.metadata_transactions import Committed, MetadataTransactions
from reference_impl.wire import (
    Malformed,
    Record,
    RecordBatch,
    Struct,
    decode_metadata_record,
    encode_metadata_record,
    read_header,
)

TOPIC = "__cluster_metadata"
METADATA = (TOPIC, 0)
"""The partition, as what waits for its records names it."""
TOPIC_ID = UUID(int=1)
"""Uuid.METADATA_TOPIC_ID: reserved, the same in every cluster."""


LEADER_CHANGE = 2
"""ControlRecordType: each leader of the quorum begins its epoch with one."""
Listener = Callable[[Committed], None]


class MetadataLog:
    """Appends records, and tells its listeners which ones are committed."""

    def __init__(self, directory: LogDirectory, now_ms: int) -> None:
        self.log = directory.open_log(TOPIC, 0, TOPIC_ID, LogConfig(), now_ms)
        last = self.log.latest_epoch
        self.epoch = 1 if last is None else last + 1
        """The epoch of this leader: each start is another leader."""
        if self.log.log_start_offset > 0:
            raise CorruptLog(
                self.log.directory,
                f"the log begins at offset {self.log.log_start_offset}: what came before is in a"
                " snapshot, which this version does not read",
            )
        self._listeners: list[Listener] = []
        self._uncommitted: list[Committed] = []
        self._transactions = MetadataTransactions()
        self._advance_high_watermark()

    @property
    def end_offset(self) -> int:
        """The number of records in the log, whether or not they are committed."""
        return self.log.log_end_offset

    @property
    def high_watermark(self) -> int:
        """The number of records that are committed."""
        return self.log.high_watermark

    @property
    def is_in_transaction(self) -> bool:
        """Return whether the log ends within a metadata transaction, whose records do not count."""
        return self._transactions.is_open

    def listen(self, listener: Listener) -> None:
        """Let a listener hear of everything that is committed from now on."""
        self._listeners.append(listener)

    def replay(self) -> None:
        """Tell the listeners everything that is committed already. Raise CorruptLog for what this
        version cannot understand."""
        for committed in self._read():
            with replaying(self.log.directory, committed.base_offset):
                self._tell(committed)

    def append(self, records: Sequence[Struct], now_ms: int) -> int:
        """Append one batch in this leader's epoch, all of it or nothing, and return the offset
        after it. Raise StorageError."""
        batch = RecordBatch(
            [Record(encode_metadata_record(record)) for record in records], base_timestamp=now_ms
        )
        data = bytearray(batch.encode())
        base_offset = self.end_offset
        self.log.append(data, read_header(data), self.epoch, now_ms)
        self.log.flush()
        self._uncommitted.append(Committed(records, base_offset, self.end_offset))
        return self.end_offset

    def commit(self) -> None:
        """Raise the high watermark as far as the voters have the log, and tell the listeners."""
        self._advance_high_watermark()
        while self._uncommitted and self._uncommitted[0].end_offset <= self.high_watermark:
            self._tell(self._uncommitted.pop(0))

    def _advance_high_watermark(self) -> None:
        self.log.high_watermark = self.log.log_end_offset

    def _read(self) -> Iterator[Committed]:
        for data in self.log.batches():
            batch = RecordBatch.decode(data)[0]
            with replaying(self.log.directory, batch.base_offset):
                records = _control(batch) if batch.is_control else _metadata(batch)
            yield Committed(records, batch.base_offset, batch.base_offset + len(batch.records))

    def _tell(self, committed: Committed) -> None:
        committed = self._transactions.take(committed)
        for listener in self._listeners:
            listener(committed)


def _metadata(batch: RecordBatch) -> list[Struct]:
    values = [record.value for record in batch.records]
    return [decode_metadata_record(value)[1] for value in values if value is not None]


def _control(batch: RecordBatch) -> list[Struct]:
    """Return no record: who led the quorum is past. Raise Malformed for one that changes what the
    voters are, or how they work (ControlRecordType.java)."""
    for record in batch.records:
        kind = int.from_bytes((record.key or b"")[2:4], "big")
        if kind != LEADER_CHANGE:
            raise Malformed(f"control record type {kind} is unknown", message="metadata record")
    return []
