"""DescribeQuorum (API key 55). Spec: KIP-595; KIP-836 (how far each replica is, v1), KIP-853
(directories and listeners of the nodes, v2: the quorum has none here).

The quorum of the metadata log is this one node, which leads it.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.controller.controller import Controller
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.quorum.metadata_log import TOPIC
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.permissions import DESCRIBE_CLUSTER
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("DescribeQuorumResponse")
METADATA_PARTITION = [(TOPIC, [0])]


def handle_describe_quorum(controller: Controller, request: Request) -> Iterator[Effect]:
    """Tell who leads the metadata quorum, and who follows."""
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
        answer.topics = [of_topic(TOPIC, [described(controller)])]
        answer.nodes = [RESPONSE.struct("Node", node_id=controller.node_id)]
    else:
        # There is one quorum; whoever asks for more is told nothing at all (KafkaRaftClient.java).
        for name, indexes in wanted:
            yield GiveWay(request)
            rows = yield from for_each(request, indexes, unknown)
            answer.topics.append(of_topic(name, rows))
    yield Respond(request, answer)


def described(controller: Controller) -> Struct:
    """Describe the quorum: one voter, which has every record."""
    end_offset = controller.metadata.end_offset
    voter = RESPONSE.struct(
        "ReplicaState",
        replica_id=controller.node_id,
        log_end_offset=end_offset,
        last_fetch_timestamp=controller.now_ms,
        last_caught_up_timestamp=controller.now_ms,
    )
    return RESPONSE.struct(
        "PartitionData",
        leader_id=controller.node_id,
        leader_epoch=controller.metadata.epoch,
        high_watermark=end_offset,
        current_voters=[voter],
    )


def unknown(index: int) -> Struct:
    """Return the row of a partition that has no quorum."""
    return RESPONSE.struct(
        "PartitionData", partition_index=index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )


def of_topic(name: str, partitions: list[Struct]) -> Struct:
    """Return the row of one topic, which holds the rows of its partitions."""
    return RESPONSE.struct("TopicData", topic_name=name, partitions=partitions)
