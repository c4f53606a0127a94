"""AssignReplicasToDirs (API key 73). Spec: KIP-858."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.leaders.directory_changes import assign
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import CLUSTER_ACTION
from reference_impl.wire import definition

RESPONSE = definition("AssignReplicasToDirsResponse")
AT_ONCE = 100
"""The number of partitions whose changes are written as one batch; then others have their turn."""


def handle_assign_replicas_to_dirs(controller: Controller, request: Request) -> Iterator[Effect]:
    """Note in which directories a broker keeps its replicas, and answer with an error code for each
    partition. Refuse the whole request of a broker whose epoch is not current."""
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
    assert broker is not None
    # DEDUPLICATE: a directory that is assigned again changes nothing.
    # APPLY
    for directory in body.directories:
        told = RESPONSE.struct("DirectoryData", id=directory.id)
        answer.directories.append(told)
        for topic in directory.topics:
            row = RESPONSE.struct("TopicData", topic_id=topic.topic_id)
            told.topics.append(row)
            for first in range(0, len(topic.partitions), AT_ONCE):
                yield GiveWay(request)
                indexes = [p.partition_index for p in topic.partitions[first : first + AT_ONCE]]
                codes = assign(controller, broker, directory.id, topic.topic_id, indexes)
                row.partitions += [
                    RESPONSE.struct("PartitionData", partition_index=index, error_code=code)
                    for index, code in zip(indexes, codes, strict=True)
                ]
    # RESPOND
    yield Respond(request, answer)
