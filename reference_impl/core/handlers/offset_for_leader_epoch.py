"""OffsetForLeaderEpoch (API key 23). Spec: KIP-101, KIP-279, KIP-320 (consumers, v3)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import CLUSTER_ACTION, DESCRIBE_TOPIC
from reference_impl.wire import Struct, definition

RESPONSE = definition("OffsetForLeaderEpochResponse")


def handle_offset_for_leader_epoch(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the end offsets of leader epochs, from which a reader learns where its log
    diverges from this one."""
    body = RESPONSE.new()
    for topic in request.body.topics:
        yield GiveWay(request)
        answer = RESPONSE.struct("OffsetForLeaderTopicResult", topic=topic.topic)
        body.topics.append(answer)
        for wanted in topic.partitions:
            answer.partitions.append(found(broker, request, topic.topic, wanted))
            yield GiveWay(request)
    # RESPOND
    yield Respond(request, body)


def found(broker: Broker, request: Request, topic: str, wanted: Struct) -> Struct:
    """Return one partition's row, with the largest epoch not above the requested one and its end
    offset, or with an error. Both are -1 if the requested epoch is negative or newer than all in
    the log."""
    row = RESPONSE.struct("EpochEndOffset", partition=wanted.partition)
    try:
        # VALIDATE
        if not broker.access.may(request, CLUSTER_ACTION):
            broker.access.require(request, DESCRIBE_TOPIC, topic)
        partition = broker.led_partition(topic, None, wanted.partition)
        partition.check_leader_epoch(wanted.current_leader_epoch)
        # DEDUPLICATE, APPLY: reading changes nothing.
        row.leader_epoch, row.end_offset = broker.rules.end_of_epoch(partition, wanted.leader_epoch)
    except Refused as refused:
        row.error_code = refused.code
    return row
