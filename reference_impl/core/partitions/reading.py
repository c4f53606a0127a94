"""Read one partition for a Fetch: who may read it, up to where the reader's log agrees with it, its
batches, and the aborted transactions among them.

Source: Partition.scala (readRecords, fetchRecords); KIP-74 (size limits), KIP-98 (aborted
transactions), KIP-110 (zstd), KIP-595 (divergence).
"""

from __future__ import annotations

from reference_impl.core.events import Request
from reference_impl.core.log.partition_log import OffsetOutOfRange
from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.partitions.fetch_sessions import replica_of
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.core.storage import StorageError
from reference_impl.wire import ErrorCode, Struct, batches, definition

RESPONSE = definition("FetchResponse")
UNDEFINED_EPOCH = -1
ZSTD_SINCE = 10
SENT_FROM_FILE_BYTES = 64 << 10
"""The size in bytes from which records are sent straight from the file. Above it, that saves a
third of the processor time, and memory; below, asyncio's bookkeeping costs more than the copy
(measured over loopback)."""


def check_reader(request: Request, partition: Partition, params: Struct) -> None:
    """Raise Refused if this broker does not lead yet (`waits_to_lead`), if the sender is a broker
    that has no replica to fetch, or if its version does not know zstd, which the topic uses."""
    if partition.waits_to_lead:
        # Its log may end before a position that a reader has from the process before. Kafka opens
        # its listeners after the registration (BrokerServer.scala).
        raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    replica_id = replica_of(request.body)
    followers = set(partition.state.replicas) - {partition.state.leader}
    if replica_id >= 0 and replica_id not in followers:
        # One that knows the epoch may have become a replica in a later one (Partition.scala).
        known = params.current_leader_epoch != -1
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH if known else ErrorCode.NOT_LEADER_OR_FOLLOWER)
    # [New in v10: KIP-110]
    if request.api_version < ZSTD_SINCE and partition.config.compression_type == "zstd":
        raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


def divergence(partition: Partition, params: Struct) -> Struct | None:
    """Return the epoch and the end offset up to which the reader's log agrees with this one, or
    None if they do not diverge or the reader names no epoch (KIP-595; Partition.java, readRecords).
    Raise Refused(OFFSET_OUT_OF_RANGE) if this log does not know the reader's epoch."""
    # [New in v12: KIP-595]
    if params.last_fetched_epoch < 0:
        return None
    epoch, end_offset = partition.log.end_offset_for_epoch(params.last_fetched_epoch)
    if epoch == UNDEFINED_EPOCH:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch < params.last_fetched_epoch or end_offset < params.fetch_offset:
        return RESPONSE.struct("EpochEndOffset", epoch=epoch, end_offset=end_offset)
    return None


def read(
    rules: Rules,
    partition: Partition,
    offset: int,
    max_bytes: int,
    end: int,
    *,
    at_least_one: bool,
    from_file: bool = False,
) -> bytes | Slice:
    """Return whole batches from the one that contains `offset` on, below `end` and up to
    `max_bytes`, or b"" if there are none. With `at_least_one`, return the first however large it
    is. Raise Refused if the log does not have the offset or cannot be read. from_file: for a large
    read, return only the position in the file, from which the host sends the batches itself."""
    try:
        found = rules.located(partition, offset, max_bytes, end, at_least_one=at_least_one)
        if found is None:
            return b""
        if from_file and found.size >= SENT_FROM_FILE_BYTES:
            return found
        return found.read()
    except OffsetOutOfRange as error:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, str(error)) from None
    except StorageError as error:
        raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None


def aborted_in(
    rules: Rules, partition: Partition, from_offset: int, records: bytes | Slice
) -> list[Struct]:
    """Return the aborted transactions that the reader must skip in these records (KIP-98)."""
    end = partition.log.last_stable_offset
    if not rules.aborted_transactions(partition, from_offset, end):
        return []  # nearly always, and cheaper than finding the end of the slice
    *_, (last, _, _) = batches(records.read() if isinstance(records, Slice) else records)
    aborted = rules.aborted_transactions(partition, from_offset, last.last_offset + 1)
    return [
        RESPONSE.struct(
            "AbortedTransaction", producer_id=each.producer_id, first_offset=each.first_offset
        )
        for each in aborted
    ]
