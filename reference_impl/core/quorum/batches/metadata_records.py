"""The records in a batch of the metadata log, or of a snapshot.

Source: MetadataRecordSerde.java, ControlRecordType.java.
"""

from __future__ import annotations

from collections.abc import Collection

from reference_impl.wire import (
    ControlRecordType,
    Malformed,
    RecordBatch,
    Struct,
    control_type,
    decode_metadata_record,
)


def records_in(batch: RecordBatch, known: Collection[ControlRecordType]) -> list[Struct]:
    """Return the metadata records of a batch, leaving out records without a value. Return none for
    control records of the known kinds, which change nothing in the metadata. Raise Malformed for a
    control record of another kind, and for a record of an unknown type."""
    if not batch.is_control:
        values = [record.value for record in batch.records]
        return [decode_metadata_record(value)[1] for value in values if value is not None]
    for record in batch.records:
        kind = control_type(record)
        if kind not in known:
            raise Malformed(f"control record type {kind} is unknown", message="metadata record")
    return []
