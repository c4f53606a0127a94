"""DescribeQuorum (API key 55). Spec: KIP-595; KIP-836 (how far each replica is, v1), KIP-853
(directories and listeners of the nodes, v2).

Source: KafkaRaftClient.java (handleDescribeQuorumRequest), RaftUtil.java, LeaderState.java. Only
the leader knows how far the others are. Voters that the configuration names (kraft.version 0) have
no directory id here, as in Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.controller.controller import Controller
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.quorum.leadership import Leadership, Progress
from reference_impl.core.quorum.metadata_log import TOPIC
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.quorum.voters.voter_set import ReplicaKey
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.permissions import DESCRIBE_CLUSTER
from reference_impl.wire import ERRORS, ErrorCode, Struct, definition

RESPONSE = definition("DescribeQuorumResponse")
METADATA_PARTITION = [(TOPIC, [0])]


def handle_describe_quorum(controller: Controller, request: Request) -> Iterator[Effect]:
    """Answer with the leader of the metadata quorum, and the log end of each voter and observer, or
    with NOT_LEADER_OR_FOLLOWER if this node does not lead it. If the request asks for anything but
    the metadata partition alone, answer UNKNOWN_TOPIC_OR_PARTITION for each partition."""
    # VALIDATE
    if not controller.access.may(request, DESCRIBE_CLUSTER):
        yield Respond(request, RESPONSE.new(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        return
    topics = request.body.topics
    wanted = [(t.topic_name, [p.partition_index for p in t.partitions]) for t in topics]
    # DEDUPLICATE, APPLY: reading changes nothing.
    # RESPOND
    answer = RESPONSE.new()
    if wanted == METADATA_PARTITION:
        quorum = controller.metadata
        if quorum.leadership is None:
            row = refused(0, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        else:
            row = described(quorum, quorum.leadership)
            answer.nodes = nodes(controller)
        answer.topics = [of_topic(TOPIC, [row])]
    else:
        # There is one quorum: a request for other partitions gets no data (KafkaRaftClient.java).
        for name, indexes in wanted:
            yield GiveWay(request)
            rows = yield from for_each(request, indexes, unknown)
            answer.topics.append(of_topic(name, rows))
    yield Respond(request, answer)


def described(quorum: Quorum, leadership: Leadership) -> Struct:
    """Return the row of the metadata partition: the quorum as this node, its leader, sees it."""
    own = Progress(
        quorum.end_offset,
        fetched_at_wall_ms=quorum.moment.now_ms,
        caught_up_at_wall_ms=quorum.moment.now_ms,
    )
    progress = {quorum.node_id: own, **leadership.followers}
    voters, observers = quorum.voters, leadership.observers(quorum.moment.monotonic_ms)
    return RESPONSE.struct(
        "PartitionData",
        leader_id=quorum.node_id,
        leader_epoch=quorum.epoch,
        high_watermark=quorum.told_high_watermark,
        current_voters=[of_replica(each.key, progress[each.node_id]) for each in voters.values()],
        observers=[of_replica(*observer) for observer in observers.items()],
    )


def of_replica(replica: ReplicaKey, progress: Progress) -> Struct:
    """Return the row of a voter or an observer."""
    return RESPONSE.struct(
        "ReplicaState",
        replica_id=replica[0],
        replica_directory_id=replica[1],
        log_end_offset=progress.end_offset,
        last_fetch_timestamp=progress.fetched_at_wall_ms,
        last_caught_up_timestamp=progress.caught_up_at_wall_ms,
    )


def nodes(controller: Controller) -> list[Struct]:
    """Return a row for each voter, with its addresses."""
    return [
        RESPONSE.struct(
            "Node",
            node_id=voter.node_id,
            listeners=[
                RESPONSE.struct("Listener", name=name, host=at.host, port=at.port)
                for name, at in voter.endpoints.items()
            ],
        )
        for voter in controller.metadata.voters.values()
    ]


def unknown(index: int) -> Struct:
    """Return the row of a partition that has no quorum, with UNKNOWN_TOPIC_OR_PARTITION."""
    return refused(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def refused(index: int, code: ErrorCode) -> Struct:
    """Return a row that holds nothing but an error."""
    return RESPONSE.struct(
        "PartitionData", partition_index=index, error_code=code, error_message=ERRORS[code].message
    )


def of_topic(name: str, partitions: list[Struct]) -> Struct:
    """Return the row of one topic, which holds the rows of its partitions."""
    return RESPONSE.struct("TopicData", topic_name=name, partitions=partitions)
