"""The requests and answers of the quorum protocol. Each has one row, for the one partition of the
metadata log.

Source: VoteRequest.json and so on; RaftUtil.java.
"""

from __future__ import annotations

from typing import Any

from reference_impl.core.quorum.metadata_log import TOPIC, TOPIC_ID
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.quorum.snapshots.snapshot_file import SnapshotId
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct, definition

VOTE, BEGIN, END = (
    definition(f"{name}Request") for name in ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch")
)
FETCH, FETCH_SNAPSHOT = definition("FetchRequest"), definition("FetchSnapshotRequest")
NOBODY = -1
FETCH_BYTES_MAX = 8 << 20
"""Kafka's KafkaRaftClient.MAX_FETCH_SIZE_BYTES."""


def vote_request(quorum: Quorum, voter: int, *, is_pre_vote: bool) -> Struct:
    """Return a Vote request, which names the end of the sender's log."""
    last_epoch, end_offset = quorum.log.end
    row = VOTE.struct(
        "PartitionData",
        replica_epoch=quorum.epoch,
        replica_id=quorum.node_id,
        last_offset_epoch=last_epoch,
        last_offset=end_offset,
        pre_vote=is_pre_vote,
    )
    topic = VOTE.struct("TopicData", topic_name=TOPIC, partitions=[row])
    return VOTE.new(cluster_id=quorum.cluster_id, voter_id=voter, topics=[topic])


def begin_request(quorum: Quorum, voter: int) -> Struct:
    """Return the BeginQuorumEpoch request by which a leader announces itself."""
    row = BEGIN.struct("PartitionData", leader_id=quorum.node_id, leader_epoch=quorum.epoch)
    topic = BEGIN.struct("TopicData", topic_name=TOPIC, partitions=[row])
    return BEGIN.new(cluster_id=quorum.cluster_id, voter_id=voter, topics=[topic])


def end_request(quorum: Quorum) -> Struct:
    """Return the EndQuorumEpoch request by which a leader resigns. It names the preferred
    successors, the one with the longest log first."""
    candidates = [END.struct("ReplicaInfo", candidate_id=each) for each in quorum.successors]
    row = END.struct(
        "PartitionData",
        leader_id=quorum.node_id,
        leader_epoch=quorum.epoch,
        preferred_successors=list(quorum.successors),
        preferred_candidates=candidates,
    )
    topic = END.struct("TopicData", topic_name=TOPIC, partitions=[row])
    return END.new(cluster_id=quorum.cluster_id, topics=[topic])


def fetch_request(quorum: Quorum, max_wait_ms: int) -> Struct:
    """Return a Fetch request for the batches after the end of this node's log."""
    last_epoch, end_offset = quorum.log.end
    row = FETCH.struct(
        "FetchPartition",
        current_leader_epoch=quorum.epoch,
        fetch_offset=end_offset,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=FETCH_BYTES_MAX,
        replica_directory_id=quorum.directory_id,
        high_watermark=quorum.high_watermark,
    )
    return FETCH.new(
        cluster_id=quorum.cluster_id,
        replica_state=FETCH.struct("ReplicaState", replica_id=quorum.node_id),
        max_wait_ms=max_wait_ms,
        max_bytes=FETCH_BYTES_MAX,
        topics=[FETCH.struct("FetchTopic", topic=TOPIC, topic_id=TOPIC_ID, partitions=[row])],
    )


def fetch_snapshot_request(quorum: Quorum, id: SnapshotId, position: int) -> Struct:
    """Return a FetchSnapshot request for the bytes from this position on."""
    row = FETCH_SNAPSHOT.struct(
        "PartitionSnapshot",
        current_leader_epoch=quorum.epoch,
        snapshot_id=FETCH_SNAPSHOT.struct("SnapshotId", end_offset=id.offset, epoch=id.epoch),
        position=position,
        replica_directory_id=quorum.directory_id,
    )
    return FETCH_SNAPSHOT.new(
        cluster_id=quorum.cluster_id,
        replica_id=quorum.node_id,
        max_bytes=quorum.settings.snapshot_bytes_max,
        topics=[FETCH_SNAPSHOT.struct("TopicSnapshot", name=TOPIC, partitions=[row])],
    )


def only_row(body: Struct) -> Struct | None:
    """Return the row of the metadata partition in a request or an answer. Return None if that is
    not its only row: there is one log, so any other request is a mistake."""
    topics = body.responses if hasattr(body, "responses") else body.topics
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return None
    topic, row = topics[0], topics[0].partitions[0]
    is_named = TOPIC in fields_of(topic, "topic_name", "topic", "name")
    if not is_named and getattr(topic, "topic_id", None) != TOPIC_ID:
        return None
    return row if fields_of(row, "partition", "partition_index", "index") == [0] else None


def fields_of(row: Struct, *names: str) -> list[Any]:
    """Return the values of those fields of a row that its kind of message has."""
    return [getattr(row, name) for name in names if hasattr(row, name)]


def checked_row(quorum: Quorum, body: Struct) -> Struct:
    """Return the row of the metadata partition in a request. Raise Refused for another cluster, and
    for a request about anything else."""
    if body.cluster_id not in (None, quorum.cluster_id):
        raise Refused(ErrorCode.INCONSISTENT_CLUSTER_ID)
    row = only_row(body)
    if row is None:
        raise Refused(ErrorCode.INVALID_REQUEST)
    return row


def check_leader_claim(quorum: Quorum, row: Struct) -> None:
    """Raise Refused unless the request comes from the leader of the current epoch: it must be a
    voter, of no older epoch, and no other leader of this epoch may be known
    (KafkaRaftClient.validateVoterOnlyRequest)."""
    if row.leader_epoch < quorum.epoch:
        raise Refused(ErrorCode.FENCED_LEADER_EPOCH)
    if row.leader_id not in quorum.voters:
        raise Refused(ErrorCode.INCONSISTENT_VOTER_SET)
    known = quorum.election.leader_id
    if row.leader_epoch == quorum.epoch and known not in (None, row.leader_id):
        raise Refused(ErrorCode.INVALID_REQUEST)


def refused(request: Struct, quorum: Quorum, code: ErrorCode) -> Struct:
    """Return the answer that refuses a request: with the error at the top if the request is not
    about this log at all, else in the partition's row."""
    if code in (ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.INVALID_REQUEST):
        of = definition(type(request).__name__.replace("Request", "Response"))
        return of.new(error_code=code)
    return answered(request, quorum, code)


def known_leader(quorum: Quorum) -> dict[str, int]:
    """Return the fields leader_id and leader_epoch of LeaderIdAndEpoch. A leader that has resigned
    is not named."""
    leader = quorum.leader_id
    return {"leader_id": NOBODY if leader is None else leader, "leader_epoch": quorum.epoch}


def leader_in(row: Struct) -> tuple[int, int | None]:
    """Return the epoch and the leader that an answer names."""
    return row.leader_epoch, None if row.leader_id == NOBODY else row.leader_id


def answered(request: Struct, quorum: Quorum, code: ErrorCode, **fields: object) -> Struct:
    """Return the answer to Vote, BeginQuorumEpoch or EndQuorumEpoch: an error code, and the epoch
    and leader as this node knows them."""
    of = definition(type(request).__name__.replace("Request", "Response"))
    leader = quorum.election.leader_id
    row = of.struct(
        "PartitionData",
        error_code=code,
        leader_id=NOBODY if leader is None else leader,
        leader_epoch=quorum.epoch,
        **fields,
    )
    topic = of.struct("TopicData", topic_name=TOPIC, partitions=[row])
    return of.new(topics=[topic])
