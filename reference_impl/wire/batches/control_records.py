"""Control records: transaction markers, and the records by which the quorum notes its leaders.

Source: KIP-98 (markers), KIP-595, KIP-853; Java classes ControlRecordType, EndTransactionMarker. A
batch with the control bit holds only such records; a consumer drops them instead of delivering
them.
"""

from __future__ import annotations

import struct
from enum import IntEnum

from reference_impl.wire.batches.batch_header import CONTROL_BIT, TRANSACTIONAL_BIT
from reference_impl.wire.batches.records import NO_TIMESTAMP, Record, RecordBatch
from reference_impl.wire.malformed import CorruptRecord, Malformed


class ControlRecordType(IntEnum):
    """The kinds of control records, stored in the record's key (ControlRecordType.java)."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


_CONTROL_KEY = struct.Struct(">hh")  # version 0, type
_END_TXN_MARKER = struct.Struct(">hi")  # version 0, coordinator epoch (EndTxnMarker.json)


def control_record(kind: ControlRecordType, value: bytes) -> Record:
    """Return a control record with this value, which includes the value's version."""
    return Record(value, _CONTROL_KEY.pack(0, kind))


def control_type(record: Record) -> ControlRecordType:
    """Return the kind of a control record. Raise CorruptRecord if its key is too short, Malformed
    if its kind is unknown."""
    if record.key is None or len(record.key) < _CONTROL_KEY.size:
        raise CorruptRecord("the key of a control record is shorter than 4 bytes", "key")
    kind: int = _CONTROL_KEY.unpack_from(record.key)[1]
    try:
        return ControlRecordType(kind)
    except ValueError:
        raise Malformed(f"control record type {kind} is unknown", "key") from None


def end_txn_marker(
    kind: ControlRecordType,
    *,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int = 0,
    timestamp_ms: int = NO_TIMESTAMP,
) -> RecordBatch:
    """Return the batch that ends a transaction in one partition: a COMMIT or ABORT marker
    (KIP-98)."""
    return RecordBatch(
        [control_record(kind, _END_TXN_MARKER.pack(0, coordinator_epoch))],
        attributes=TRANSACTIONAL_BIT | CONTROL_BIT,
        base_timestamp=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
