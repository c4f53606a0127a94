"""Fetch (API key 1) of the metadata log, on a controller's listener. Spec: KIP-595 (diverging
epochs, replication by fetches), KIP-630 (snapshots), KIP-1166 (the follower's high watermark, v18).

Voters and observers fetch alike. The offset of a fetch acknowledges everything below it: a follower
syncs what it has fetched before it asks again.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Respond
from reference_impl.core.events import Request
from reference_impl.core.partitions.fetch_sessions import replica_of
from reference_impl.core.quorum import messages
from reference_impl.core.quorum.metadata_log import TOPIC, TOPIC_ID
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.quorum.snapshots.snapshot_file import SnapshotId
from reference_impl.core.refused import Refused
from reference_impl.core.rules.agreeing import LogEnd
from reference_impl.core.waiting.waits import MetadataNews
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("FetchResponse")


def handle_fetch_metadata(broker: Broker, request: Request) -> Generator[Any, None, None]:
    """Answer with the batches of the metadata log after the follower's end, with the point where
    the logs diverge, or with the snapshot to fetch first. Note the follower's progress. Wait up to
    max_wait_ms if there is nothing new."""
    quorum, body = broker.quorum, request.body
    # VALIDATE
    try:
        wanted = messages.checked_row(quorum, body)
        check_fetch(quorum, wanted, body)
    except Refused as refused:
        # DEDUPLICATE: reading changes nothing. APPLY: nothing.
        # RESPOND
        if refused.code in TO_THE_WHOLE:
            yield Respond(request, RESPONSE.new(error_code=refused.code))
        else:
            yield Respond(request, answer(quorum, error_code=refused.code))
        return
    fields = read(quorum, wanted, replica_of(body))
    if not any(fields.values()) and body.max_wait_ms > 0:
        try:
            offset, known = wanted.fetch_offset, wanted.high_watermark
            yield MetadataNews(offset, known, quorum.turn, body.max_wait_ms)
        except Refused:
            pass  # the time is over, and there is nothing new
        try:
            check_leads(quorum, wanted)
        except Refused as refused:
            yield Respond(request, answer(quorum, error_code=refused.code))
            return
        fields = read(quorum, wanted, replica_of(body))
    yield Respond(request, answer(quorum, **fields))


TO_THE_WHOLE = (ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.INVALID_REQUEST)


def check_fetch(quorum: Quorum, wanted: Struct, body: Struct) -> None:
    """Raise Refused for a fetch that is invalid, or that was sent to a node which does not lead in
    its epoch."""
    if min(body.max_wait_ms, wanted.fetch_offset, wanted.last_fetched_epoch) < 0:
        raise Refused(ErrorCode.INVALID_REQUEST)
    if wanted.current_leader_epoch < 0:
        raise Refused(ErrorCode.INVALID_REQUEST)
    check_leads(quorum, wanted)


def check_leads(quorum: Quorum, wanted: Struct) -> None:
    """Raise Refused unless this node leads in the epoch of the fetch: FENCED_LEADER_EPOCH for an
    older epoch, UNKNOWN_LEADER_EPOCH for a newer one, else NOT_LEADER_OR_FOLLOWER
    (KafkaRaftClient.validateLeaderOnlyRequest)."""
    epoch = wanted.current_leader_epoch
    if epoch < quorum.epoch:
        raise Refused(ErrorCode.FENCED_LEADER_EPOCH)
    if epoch > quorum.epoch:
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH)
    if not quorum.is_leader:
        raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)


def read(quorum: Quorum, wanted: Struct, replica_id: int) -> dict[str, Any]:
    """Return the fields of the answer: the id of the snapshot that the follower needs, or the point
    at which its log diverges from ours, or the batches after its end. In the last case, note the
    progress of a follower with an id."""
    epoch, offset = wanted.last_fetched_epoch, wanted.fetch_offset
    snapshot = snapshot_for(quorum, (epoch, offset))
    if snapshot is not None:
        id = RESPONSE.struct("SnapshotId", end_offset=snapshot.offset, epoch=snapshot.epoch)
        return {"snapshot_id": id}
    found = quorum.log.end_of_epoch(epoch)
    if not quorum.rules.agrees(epoch, offset, found):
        diverging = RESPONSE.struct("EpochEndOffset", epoch=found[0], end_offset=found[1])
        return {"diverging_epoch": diverging}
    if replica_id >= 0 and replica_id != quorum.node_id:
        quorum.fetched((replica_id, wanted.replica_directory_id), offset)
    records = quorum.log.read(offset, wanted.partition_max_bytes)
    return {"records": records}


def snapshot_for(quorum: Quorum, follower: LogEnd) -> SnapshotId | None:
    """Return the latest snapshot if a follower must fetch it because the leader's log cannot
    continue the follower's log, or None if it can."""
    snapshots = quorum.log.snapshots
    if snapshots.earliest is None:
        return None
    earliest = snapshots.earliest.epoch, snapshots.earliest.offset
    is_needed = quorum.rules.needs_snapshot(follower, quorum.log.start_offset, earliest)
    return snapshots.latest if is_needed else None


def answer(quorum: Quorum, **fields: Any) -> Struct:
    """Return the answer with one row, which has these fields and the high watermark, and always
    names the leader, as far as this node knows it, and its epoch."""
    current = RESPONSE.struct("LeaderIdAndEpoch", **messages.known_leader(quorum))
    row = {"records": b"", "aborted_transactions": [], **fields}
    data = RESPONSE.struct(
        "PartitionData",
        current_leader=current,
        high_watermark=quorum.told_high_watermark,
        log_start_offset=quorum.log.start_offset,
        **row,
    )
    topic = RESPONSE.struct(
        "FetchableTopicResponse", topic=TOPIC, topic_id=TOPIC_ID, partitions=[data]
    )
    return RESPONSE.new(responses=[topic], node_endpoints=messages.node_endpoints(quorum, RESPONSE))
