"""Encode and decode the messages of the Kafka protocol in every version. This package imports
nothing else of the project.

README.md gives a tour. `definition("ProduceRequest")` is a message; `encode_request` and
`decode_response` convert it to and from bytes on a connection; `RecordBatch` is what Produce and
Fetch carry.
"""

from reference_impl.wire.apis import API_NAMES, ApiKey, api_key, not_served, valid_versions
from reference_impl.wire.batches.batch_header import (
    CONTROL_BIT,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    TRANSACTIONAL_BIT,
)
from reference_impl.wire.batches.compression import compress, decompress
from reference_impl.wire.batches.control_records import (
    ControlRecordType,
    control_record,
    control_type,
    end_txn_marker,
)
from reference_impl.wire.batches.records import (
    BY_POSITION,
    NO_TIMESTAMP,
    BatchHeader,
    Compression,
    Record,
    RecordBatch,
    assign_offset_and_epoch,
    batches,
    check_crc,
    patched,
    read_header,
    set_timestamps,
)
from reference_impl.wire.codec.fields import Struct
from reference_impl.wire.codec.primitives import STRING_BYTES_MAX, ZERO_UUID, fitting
from reference_impl.wire.codec.schema import Definition
from reference_impl.wire.errors import ERRORS, ErrorCode, ErrorInfo, error_name
from reference_impl.wire.frames import (
    FRAME_BYTES_MAX,
    FrameReader,
    RequestHeader,
    decode_request,
    decode_request_header,
    decode_response,
    decode_response_header,
    encode_request,
    encode_request_header,
    encode_response,
    encode_response_parts,
    request_header_version,
    response_header_version,
)
from reference_impl.wire.log_records import (
    decode_metadata_record,
    decode_record,
    decode_versioned,
    encode_key,
    encode_metadata_record,
    encode_record,
    encode_versioned,
)
from reference_impl.wire.malformed import CorruptRecord, Malformed, TooManyElements
from reference_impl.wire.messages import (
    KAFKA_VERSIONS,
    LATEST,
    api_keys,
    definition,
    request_definition,
    response_definition,
)

__all__ = [
    "API_NAMES",
    "BY_POSITION",
    "CONTROL_BIT",
    "ERRORS",
    "FRAME_BYTES_MAX",
    "HEADER_BYTES",
    "KAFKA_VERSIONS",
    "LATEST",
    "LOG_APPEND_TIME_BIT",
    "LOG_OVERHEAD",
    "NO_TIMESTAMP",
    "STRING_BYTES_MAX",
    "TRANSACTIONAL_BIT",
    "ZERO_UUID",
    "ApiKey",
    "BatchHeader",
    "Compression",
    "ControlRecordType",
    "CorruptRecord",
    "Definition",
    "ErrorCode",
    "ErrorInfo",
    "FrameReader",
    "Malformed",
    "Record",
    "RecordBatch",
    "RequestHeader",
    "Struct",
    "TooManyElements",
    "api_key",
    "api_keys",
    "assign_offset_and_epoch",
    "batches",
    "check_crc",
    "compress",
    "control_record",
    "control_type",
    "decode_metadata_record",
    "decode_record",
    "decode_request",
    "decode_request_header",
    "decode_response",
    "decode_response_header",
    "decode_versioned",
    "decompress",
    "definition",
    "encode_key",
    "encode_metadata_record",
    "encode_record",
    "encode_request",
    "encode_request_header",
    "encode_response",
    "encode_response_parts",
    "encode_versioned",
    "end_txn_marker",
    "error_name",
    "fitting",
    "not_served",
    "patched",
    "read_header",
    "request_definition",
    "request_header_version",
    "response_definition",
    "response_header_version",
    "set_timestamps",
    "valid_versions",
]
