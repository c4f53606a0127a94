"""ElectLeaders (API key 43). Spec: KIP-183 (preferred leader), KIP-460 (unclean election, v1).

The preferred leader is the first replica. An unclean election makes a replica that may lack records
the leader of a partition that has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.leaders.elections import elect
from reference_impl.core.controller.leaders.partition_changes import Election
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import TIMED_OUT, Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.permissions import ALTER_CLUSTER
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("ElectLeadersResponse")
ELECTIONS = {0: Election.PREFERRED, 1: Election.UNCLEAN}


def handle_elect_leaders(controller: Controller, request: Request) -> Iterator[Effect]:
    """Elect leaders of the requested type for the named partitions, or for all, that need an
    election. Answer with a row for each named partition; of all, only for those in which an
    election was held or failed. If the request is permitted and its timeout is not positive, elect
    none, and answer REQUEST_TIMED_OUT."""
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
        # For all topics, the answer has only the partitions in which an election was held.
        topics = sorted(controller.image.topics) if answer.error_code == ErrorCode.NONE else []
        for name in topics:
            yield GiveWay(request)
            topic = controller.image.topics.get(name)
            indexes = [] if topic is None else sorted(topic.partitions)
            try_one = partial(result, controller, request, name)
            rows = yield from for_each(request, indexes, try_one)
            told = [row for row in rows if row.error_code != ErrorCode.ELECTION_NOT_NEEDED]
            answer.replica_election_results.append(of_topic(name, told))
        yield Respond(request, answer)
        return
    # DEDUPLICATE, APPLY: where the wanted replica leads already, no election is needed.
    for wanted in body.topic_partitions:
        yield GiveWay(request)
        try_one = partial(result, controller, request, wanted.topic)
        results = yield from for_each(request, wanted.partitions, try_one)
        answer.replica_election_results.append(of_topic(wanted.topic, results))
    # RESPOND
    yield Respond(request, answer)


def timed_out(body: Struct) -> Struct:
    """Return the response with REQUEST_TIMED_OUT on top and for each named partition, for a request
    whose timeout is not positive. It has no error if the request names an empty list of
    partitions."""
    topics = [
        of_topic(wanted.topic, [refused_result(i, TIMED_OUT) for i in wanted.partitions])
        for wanted in body.topic_partitions or []
    ]
    # A request that names no partitions needs no time, so it does not time out.
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
    """Elect a leader for one partition. Return its row, with the reason if no election was held."""
    try:
        controller.access.require(request, ALTER_CLUSTER)
        check_type(request.body.election_type)
        elect(controller, topic, index, ELECTIONS[request.body.election_type])
    except Refused as refused:
        return refused_result(index, refused)
    return RESPONSE.struct("PartitionResult", partition_id=index, error_message=None)


def check_type(election_type: int) -> None:
    """Raise Refused unless Kafka has an election of this type."""
    if election_type not in ELECTIONS:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown election type {election_type}")


def of_topic(name: str, results: list[Struct]) -> Struct:
    """Return the row of one topic, with these results of its partitions."""
    return RESPONSE.struct("ReplicaElectionResult", topic=name, partition_result=results)
