"""AlterPartition (API key 56). Spec: KIP-497; KIP-704 (recovery state, v1), KIP-841 (v2), KIP-903
(broker epochs, v3)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.controller.leaders.isr_changes import alter_partitions
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import CLUSTER_ACTION
from reference_impl.wire import Struct, definition

RESPONSE = definition("AlterPartitionResponse")
AT_ONCE = 100
"""The number of partitions whose changes are written as one batch; then others have their turn."""


def handle_alter_partition(controller: Controller, request: Request) -> Iterator[Effect]:
    """Give partitions the ISR that their leader requests, and answer with the new state or an error
    for each. Refuse the whole request of a broker whose epoch is not current."""
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
        told = RESPONSE.struct("TopicData", topic_id=topic.topic_id)
        answer.topics.append(told)
        for first in range(0, len(topic.partitions), AT_ONCE):
            yield GiveWay(request)
            wanted = topic.partitions[first : first + AT_ONCE]
            found = alter_partitions(controller, body.broker_id, topic.topic_id, wanted)
            told.partitions += map(row_of, wanted, found)
    # RESPOND
    yield Respond(request, answer)


def row_of(wanted: Struct, found: PartitionImage | Refused) -> Struct:
    """Return the row of one partition: its new state, or the reason why it has not changed."""
    if isinstance(found, Refused):
        return RESPONSE.struct(
            "PartitionData", partition_index=wanted.partition_index, error_code=found.code
        )
    return RESPONSE.struct(
        "PartitionData",
        partition_index=wanted.partition_index,
        leader_id=found.leader,
        leader_epoch=found.leader_epoch,
        partition_epoch=found.partition_epoch,
        isr=list(found.isr),
        leader_recovery_state=int(found.is_recovering),
    )
