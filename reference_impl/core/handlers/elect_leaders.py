"""ElectLeaders (API key 43). Spec: KIP-183 (preferred leader), KIP-460 (unclean election, v1).

The preferred leader is the first replica. With one node each partition is led by its only replica,
so that no election is needed, of neither kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reference_impl.core.controller.controller import Controller
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import TIMED_OUT, Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.permissions import ALTER_CLUSTER
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("ElectLeadersResponse")
PREFERRED, UNCLEAN = 0, 1


def handle_elect_leaders(controller: Controller, request: Request) -> Iterator[Effect]:
    """Elect leaders of the requested type for the partitions that need an election."""
    body = request.body
    # VALIDATE
    answer = RESPONSE.new()
    try:
        controller.access.require(request, ALTER_CLUSTER)
        check_type(body.election_type)
    except Refused as refused:
        answer.error_code = refused.code
    denied = answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if body.timeout_ms <= 0 and not denied:
        # Kafka's controller gives up before it begins (KafkaEventQueue.java, deadlines).
        yield Respond(request, timed_out(body))
        return
    if body.topic_partitions is None:
        # All topics are asked for: named, and only partitions with an election are told.
        topics = sorted(controller.image.topics) if answer.error_code == ErrorCode.NONE else []
        answer.replica_election_results = [of_topic(name, []) for name in topics]
        yield Respond(request, answer)
        return
    # DEDUPLICATE, APPLY: no election is ever needed.
    for wanted in body.topic_partitions:
        yield GiveWay(request)
        elect = partial(result, controller, request, wanted.topic)
        results = yield from for_each(request, wanted.partitions, elect)
        answer.replica_election_results.append(of_topic(wanted.topic, results))
    # RESPOND
    yield Respond(request, answer)


def timed_out(body: Struct) -> Struct:
    """Answer REQUEST_TIMED_OUT for each partition of a request that leaves no time."""
    topics = [
        of_topic(wanted.topic, [refused_result(i, TIMED_OUT) for i in wanted.partitions])
        for wanted in body.topic_partitions or []
    ]
    # A request for no partitions at all is done before any time has passed.
    nothing = body.topic_partitions is not None and not topics
    code = ErrorCode.NONE if nothing else TIMED_OUT.code
    return RESPONSE.new(error_code=code, replica_election_results=topics)


def refused_result(index: int, refused: Refused) -> Struct:
    """Return the row of one partition for which the election was refused, with the reason."""
    return RESPONSE.struct(
        "PartitionResult",
        partition_id=index,
        error_code=refused.code,
        error_message=refused.message,
    )


def result(controller: Controller, request: Request, topic: str, index: int) -> Struct:
    """Return the row of one partition with the reason why there was no election."""
    try:
        controller.access.require(request, ALTER_CLUSTER)
        check_type(request.body.election_type)
        check_exists(controller, topic, index)
        refused = Refused(
            ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
        )
    except Refused as error:
        refused = error
    return refused_result(index, refused)


def check_type(election_type: int) -> None:
    """Raise Refused unless there is such an election."""
    if election_type not in (PREFERRED, UNCLEAN):
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown election type {election_type}")


def check_exists(controller: Controller, name: str, index: int) -> None:
    """Raise Refused unless there is such a partition."""
    topic = controller.image.topics.get(name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if index not in topic.partitions:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")


def of_topic(name: str, results: list[Struct]) -> Struct:
    """Return the results of one topic."""
    return RESPONSE.struct("ReplicaElectionResult", topic=name, partition_result=results)
