"""FetchSnapshot (API key 59). Spec: KIP-630; KIP-853 (the follower's directory, v1).

Source: KafkaRaftClient.java (handleFetchSnapshotRequest). A follower asks for part after part of a
snapshot that Fetch has named; the parts need not end with a batch.

Errors are in the row, as KIP-630 has them. Apache Kafka 4.3.1 finds the same errors, but cannot
encode a row without records (unalignedRecords is null there), and answers UNKNOWN_SERVER_ERROR for
the whole request; a request without topics ends its controller. A follower of ours begins again
after either answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.handlers.fetch_metadata import check_leads
from reference_impl.core.quorum import messages
from reference_impl.core.quorum.metadata_log import TOPIC
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.quorum.snapshots.snapshot_file import BOOTSTRAP, SnapshotId
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("FetchSnapshotResponse")


def handle_fetch_snapshot(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the part of a snapshot that a follower or observer requests, and note that it was
    heard from. Answer with an error if the request is wrong, this node does not lead, or there is
    no such part."""
    quorum, body = broker.quorum, request.body
    # VALIDATE
    code = objection_to(quorum, body)
    if code is not None:
        yield Respond(request, RESPONSE.new(error_code=code))
        return
    topic, wanted = body.topics[0].name, body.topics[0].partitions[0]
    if (topic, wanted.partition) != (TOPIC, 0):
        row = RESPONSE.struct(
            "PartitionSnapshot",
            index=wanted.partition,
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            unaligned_records=b"",
        )
        yield Respond(request, answer(quorum, topic, row))
        return
    # DEDUPLICATE, APPLY: reading changes nothing.
    try:
        fields = read(quorum, wanted, body.max_bytes)
        quorum.heard((body.replica_id, wanted.replica_directory_id))
    except Refused as refused:
        fields = {"error_code": refused.code}
    # RESPOND
    yield Respond(request, answer(quorum, TOPIC, row_of(quorum, **fields)))


def objection_to(quorum: Quorum, body: Struct) -> ErrorCode | None:
    """Return the error for a request about another cluster or about more than one partition, or
    None."""
    if body.cluster_id not in (None, quorum.cluster_id):
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    if len(body.topics) != 1 or len(body.topics[0].partitions) != 1:
        return ErrorCode.INVALID_REQUEST
    return None


def read(quorum: Quorum, wanted: Struct, max_bytes: int) -> dict[str, Any]:
    """Return the fields of the response: at most `max_bytes` of the snapshot's bytes from the
    requested position on. Raise Refused if this node does not lead, or if there is no such snapshot
    or position."""
    check_leads(quorum, wanted)
    snapshots, position = quorum.log.snapshots, wanted.position
    id = SnapshotId(wanted.snapshot_id.end_offset, wanted.snapshot_id.epoch)
    size = snapshots.size_of(id)
    if size is None or id == BOOTSTRAP:
        raise Refused(ErrorCode.SNAPSHOT_NOT_FOUND)
    if not 0 <= position < size:
        raise Refused(ErrorCode.POSITION_OUT_OF_RANGE)
    return {
        "snapshot_id": RESPONSE.struct("SnapshotId", end_offset=id.offset, epoch=id.epoch),
        "size": size,
        "position": position,
        "unaligned_records": snapshots.read_bytes(id, position, max(0, max_bytes)),
    }


def row_of(quorum: Quorum, **fields: Any) -> Struct:
    """Return the row of the metadata partition with these fields. It always names the leader, as
    far as this node knows it, and its epoch."""
    current = RESPONSE.struct("LeaderIdAndEpoch", **messages.known_leader(quorum))
    row = {"unaligned_records": b"", **fields}
    return RESPONSE.struct("PartitionSnapshot", current_leader=current, **row)


def answer(quorum: Quorum, topic: str, row: Struct) -> Struct:
    """Return the answer with this one row, for a partition of this topic."""
    return RESPONSE.new(
        topics=[RESPONSE.struct("TopicSnapshot", name=topic, partitions=[row])],
        node_endpoints=messages.node_endpoints(quorum, RESPONSE),
    )
