"""The requests and answers of the quorum protocol. Each has one row, for the one partition of the
metadata log.

Source: VoteRequest.json and so on; RaftUtil.java.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from reference_impl.core.quorum.metadata_log import TOPIC, TOPIC_ID
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.quorum.snapshots.snapshot_file import SnapshotId
from reference_impl.core.quorum.voters.voter_set import ReplicaKey
from reference_impl.core.refused import Refused
from reference_impl.core.security.listeners import Endpoint
from reference_impl.wire import ZERO_UUID, Definition, ErrorCode, Struct, definition

VOTE, BEGIN, END = (
    definition(f"{name}Request") for name in ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch")
)
FETCH, FETCH_SNAPSHOT = definition("FetchRequest"), definition("FetchSnapshotRequest")
NOBODY = -1


def vote_request(quorum: Quorum, voter: int, *, is_pre_vote: bool) -> Struct:
    """Return a Vote request to a voter, by its node id, which names the end of the sender's log."""
    last_epoch, end_offset = quorum.log.end
    row = VOTE.struct(
        "PartitionData",
        replica_epoch=quorum.epoch,
        replica_id=quorum.node_id,
        replica_directory_id=quorum.directory_id,
        voter_directory_id=quorum.voters[voter].directory_id,
        last_offset_epoch=last_epoch,
        last_offset=end_offset,
        pre_vote=is_pre_vote,
    )
    topic = VOTE.struct("TopicData", topic_name=TOPIC, partitions=[row])
    return VOTE.new(cluster_id=quorum.cluster_id, voter_id=voter, topics=[topic])


def begin_request(quorum: Quorum, voter: int) -> Struct:
    """Return the BeginQuorumEpoch request by which a leader announces itself to this voter."""
    row = BEGIN.struct(
        "PartitionData",
        leader_id=quorum.node_id,
        leader_epoch=quorum.epoch,
        voter_directory_id=quorum.voters[voter].directory_id,
    )
    topic = BEGIN.struct("TopicData", topic_name=TOPIC, partitions=[row])
    return BEGIN.new(
        cluster_id=quorum.cluster_id,
        voter_id=voter,
        topics=[topic],
        leader_endpoints=own_endpoints(quorum, BEGIN),
    )


def own_endpoints(quorum: Quorum, of: Definition) -> list[Struct]:
    """Return the rows with the addresses of this leader. Return none if the configuration names the
    voters: then every node knows their addresses."""
    if quorum.log.voters.latest.kraft_version == 0:
        return []
    return [
        of.struct("LeaderEndpoint", name=name, host=at.host, port=at.port)
        for name, at in quorum.member.endpoints.items()
    ]


def endpoint_in(quorum: Quorum, rows: Iterable[Struct]) -> Endpoint | None:
    """Return the leader's address on the quorum's listener, out of the rows of a request with the
    addresses of its listeners. Return None if no row is for that listener."""
    found = (Endpoint(row.host, row.port) for row in rows if row.name == quorum.member.listener)
    return next(found, None)


def end_request(quorum: Quorum) -> Struct:
    """Return the EndQuorumEpoch request by which a leader resigns. It names the preferred
    successors, the one with the longest log first."""
    candidates = [
        END.struct("ReplicaInfo", candidate_id=node, candidate_directory_id=directory)
        for node, directory in quorum.successors
    ]
    row = END.struct(
        "PartitionData",
        leader_id=quorum.node_id,
        leader_epoch=quorum.epoch,
        preferred_successors=[node for node, _ in quorum.successors],
        preferred_candidates=candidates,
    )
    topic = END.struct("TopicData", topic_name=TOPIC, partitions=[row])
    endpoints = own_endpoints(quorum, END)
    return END.new(cluster_id=quorum.cluster_id, topics=[topic], leader_endpoints=endpoints)


def add_voter_request(quorum: Quorum) -> Struct:
    """Return the AddRaftVoter request by which this node asks to become a voter. The leader answers
    it before the change is committed: this node is needed for the commit (KIP-1186)."""
    of = definition("AddRaftVoterRequest")
    return of.new(
        cluster_id=quorum.cluster_id,
        timeout_ms=quorum.settings.request_timeout_ms,
        voter_id=quorum.node_id,
        voter_directory_id=quorum.directory_id,
        listeners=own_listeners(quorum, of),
        ack_when_committed=False,
    )


def remove_voter_request(quorum: Quorum, key: ReplicaKey) -> Struct:
    """Return the request that removes a replica from the voters."""
    of = definition("RemoveRaftVoterRequest")
    return of.new(cluster_id=quorum.cluster_id, voter_id=key[0], voter_directory_id=key[1])


def update_voter_request(quorum: Quorum) -> Struct:
    """Return the UpdateRaftVoter request by which this voter reports its current addresses and the
    levels of `kraft.version` that it supports."""
    of = definition("UpdateRaftVoterRequest")
    least, most = quorum.own_voter.kraft_versions
    return of.new(
        cluster_id=quorum.cluster_id,
        current_leader_epoch=quorum.epoch,
        voter_id=quorum.node_id,
        voter_directory_id=quorum.directory_id,
        listeners=own_listeners(quorum, of),
        k_raft_version_feature=of.struct(
            "KRaftVersionFeature", min_supported_version=least, max_supported_version=most
        ),
    )


def own_listeners(quorum: Quorum, of: Definition) -> list[Struct]:
    """Return the rows of a request with the addresses of this node's controller."""
    return [
        of.struct("Listener", name=name, host=at.host, port=at.port)
        for name, at in quorum.member.endpoints.items()
    ]


def fetch_request(quorum: Quorum, max_wait_ms: int) -> Struct:
    """Return a Fetch request for the batches after the end of this node's log."""
    last_epoch, end_offset = quorum.log.end
    row = FETCH.struct(
        "FetchPartition",
        current_leader_epoch=quorum.epoch,
        fetch_offset=end_offset,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=quorum.settings.fetch_bytes_max,
        replica_directory_id=quorum.directory_id,
        high_watermark=quorum.high_watermark,
    )
    return FETCH.new(
        cluster_id=quorum.cluster_id,
        replica_state=FETCH.struct("ReplicaState", replica_id=quorum.node_id),
        max_wait_ms=max_wait_ms,
        max_bytes=quorum.settings.fetch_bytes_max,
        topics=[FETCH.struct("FetchTopic", topic=TOPIC, topic_id=TOPIC_ID, partitions=[row])],
    )


def fetch_snapshot_request(quorum: Quorum, id: SnapshotId, position: int) -> Struct:
    """Return a FetchSnapshot request for the bytes of a snapshot from this position on."""
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
    """Return the values of these fields of a row. Leave out fields that this kind of message does
    not have."""
    return [getattr(row, name) for name in names if hasattr(row, name)]


def checked_row(quorum: Quorum, body: Struct) -> Struct:
    """Return the row of the metadata partition in a request. Raise Refused for another cluster
    (INCONSISTENT_CLUSTER_ID), and for a request about anything else (INVALID_REQUEST)."""
    if body.cluster_id not in (None, quorum.cluster_id):
        raise Refused(ErrorCode.INCONSISTENT_CLUSTER_ID)
    row = only_row(body)
    if row is None:
        raise Refused(ErrorCode.INVALID_REQUEST)
    return row


def check_leader_claim(quorum: Quorum, row: Struct) -> None:
    """Raise Refused for an epoch that is older or that elections cannot have reached, for no
    leader, and for another leader than the known one of this epoch. Accept a leader that this node
    does not know as a voter yet (KafkaRaftClient.validateVoterOnlyRequest)."""
    check_epoch(quorum, row.leader_epoch)
    if row.leader_id < 0:
        raise Refused(ErrorCode.INVALID_REQUEST)
    known = quorum.election.leader_id
    if row.leader_epoch == quorum.epoch and known not in (None, row.leader_id):
        raise Refused(ErrorCode.INVALID_REQUEST)


def check_epoch(quorum: Quorum, epoch: int) -> None:
    """Raise Refused for a request of an earlier epoch (FENCED_LEADER_EPOCH), and for one of an
    epoch that elections cannot have reached (INVALID_REQUEST)."""
    if epoch < quorum.epoch:
        raise Refused(ErrorCode.FENCED_LEADER_EPOCH)
    if quorum.cannot_reach(epoch):
        raise Refused(ErrorCode.INVALID_REQUEST)


def check_voter(quorum: Quorum, node_id: int, directory_id: UUID) -> None:
    """Raise Refused(INVALID_VOTER_KEY) for a request that is meant for another voter than this
    node, such as this node with an earlier directory (KIP-853). The node id -1 stands for any
    voter, the directory id zero for any directory (KafkaRaftClient.isValidVoterKey)."""
    is_own = node_id == quorum.node_id and directory_id in (ZERO_UUID, quorum.directory_id)
    if node_id != NOBODY and not is_own:
        raise Refused(ErrorCode.INVALID_VOTER_KEY)


def refused(request: Struct, quorum: Quorum, code: ErrorCode) -> Struct:
    """Return the answer that refuses a Vote, BeginQuorumEpoch or EndQuorumEpoch: with the error at
    the top for INCONSISTENT_CLUSTER_ID and INVALID_REQUEST, else in the partition's row."""
    if code in (ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.INVALID_REQUEST):
        of = definition(type(request).__name__.replace("Request", "Response"))
        return of.new(error_code=code)
    return answered(request, quorum, code)


def known_leader(quorum: Quorum) -> dict[str, int]:
    """Return the fields leader_id and leader_epoch of LeaderIdAndEpoch. The id is -1 while the
    leader is unknown, and after this node has resigned as the leader."""
    leader = quorum.leader_id
    return {"leader_id": NOBODY if leader is None else leader, "leader_epoch": quorum.epoch}


def leader_in(row: Struct, answer: Struct) -> tuple[int, int | None, Endpoint | None]:
    """Return the epoch, the leader and the leader's address that an answer names. The leader or its
    address is None if the answer does not name it."""
    leader = None if row.leader_id == NOBODY else int(row.leader_id)
    found = (Endpoint(at.host, at.port) for at in answer.node_endpoints if at.node_id == leader)
    return row.leader_epoch, leader, next(found, None)


def node_endpoints(quorum: Quorum, of: Definition) -> list[Struct]:
    """Return the NodeEndpoint rows of an answer: one, with the leader's address. Return none if
    this node does not know the leader or its address, or if the configuration names the voters:
    then every node knows their addresses."""
    leader = quorum.leader_id
    if leader is None or quorum.log.voters.latest.kraft_version == 0:
        return []
    own = quorum.member.endpoints.get(quorum.member.listener)
    endpoint = own if leader == quorum.node_id else quorum.endpoint_of(leader)
    if endpoint is None:
        return []
    return [of.struct("NodeEndpoint", node_id=leader, host=endpoint.host, port=endpoint.port)]


def answered(request: Struct, quorum: Quorum, code: ErrorCode, **fields: object) -> Struct:
    """Return the answer to Vote, BeginQuorumEpoch or EndQuorumEpoch: an error code, the epoch and
    leader as this node knows them (itself, too, after it has resigned), and further fields of the
    row."""
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
    return of.new(topics=[topic], node_endpoints=node_endpoints(quorum, of))
