"""AlterPartition (API key 56). Spec: KIP-497; KIP-704 (recovery state, v1), KIP-841 (v2), KIP-903
(broker epochs, v3)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.leaders.isr_changes import alter_partition
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.permissions import CLUSTER_ACTION
from reference_impl.wire import Struct, definition

RESPONSE = definition("AlterPartitionResponse")


def handle_alter_partition(controller: Controller, request: Request) -> Iterator[Effect]:
    """Give partitions the ISR that their leader requests."""
    body, answer = request.body, RESPONSE.new()
    try:
        # VALIDATE
        controller.access.require(request, CLUSTER_ACTION)
        broker = controller.image.brokers.get(body.broker_id)
        controller.rules.check_broker_epoch(broker, body.broker_epoch)
    except Refused as refused:
        answer.error_code = refused.code
        yield Respond(request, answer)
        return
    # DEDUPLICATE: a change that comes again rests on a partition epoch of the past, and is refused.
    # APPLY
    for topic in body.topics:
        yield GiveWay(request)
        alter = partial(row_of, controller, body.broker_id, topic)
        rows = yield from for_each(request, topic.partitions, alter)
        answer.topics.append(RESPONSE.struct("TopicData", topic_id=topic.topic_id, partitions=rows))
    # RESPOND
    yield Respond(request, answer)


def row_of(controller: Controller, broker_id: int, topic: Struct, wanted: Struct) -> Struct:
    """Return the new state of one partition, or the reason why it has not changed."""
    row = RESPONSE.struct("PartitionData", partition_index=wanted.partition_index)
    try:
        new = alter_partition(controller, broker_id, topic.topic_id, wanted)
    except Refused as refused:
        row.error_code = refused.code
        return row
    row.leader_id, row.leader_epoch, row.partition_epoch = (
        new.leader,
        new.leader_epoch,
        new.partition_epoch,
    )
    row.isr, row.leader_recovery_state = list(new.isr), int(new.is_recovering)
    return row
