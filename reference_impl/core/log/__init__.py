"""The log of a partition in Kafka's own files. README.md explains it; the rest of the broker uses
`PartitionLog`.
"""

from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.partition_log import (
    AppendResult,
    OffsetOutOfRange,
    PartitionLog,
    ReadResult,
)
from reference_impl.core.log.producers.state import (
    BatchMetadata,
    ProducerEntry,
    ProducerStateManager,
    check_sequence,
    duplicate_of,
)
from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.log.segments.time_search import TimestampOffset

__all__ = [
    "AppendResult",
    "BatchMetadata",
    "CorruptLog",
    "LogConfig",
    "LogDirectory",
    "OffsetOutOfRange",
    "PartitionLog",
    "ProducerEntry",
    "ProducerStateManager",
    "ReadResult",
    "Slice",
    "TimestampOffset",
    "check_sequence",
    "duplicate_of",
]
