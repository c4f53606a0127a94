"""AlterReplicaLogDirs (API key 34). Spec: KIP-113, KIP-1066 (cordoned
directories).

This broker has one directory, in which all its replicas already are; there is no other to which a
replica could move.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.log.directories.cordoned import CORDONED, cordons
from reference_impl.core.partitions.purgatory import PartitionKey
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.permissions import ALTER_CLUSTER
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("AlterReplicaLogDirsResponse")


def handle_alter_replica_log_dirs(broker: Broker, request: Request) -> Iterator[Effect]:
    """Accept each replica that is already in the requested directory, and refuse the others."""
    # VALIDATE. DEDUPLICATE, APPLY: what can be moved lies there already.
    codes: dict[PartitionKey, ErrorCode] = {}
    for directory in request.body.dirs:
        yield GiveWay(request)
        for topic in directory.topics:
            yield GiveWay(request)
            for index in topic.partitions:
                code = code_of(broker, request, directory.path, topic.name, index)
                codes[topic.name, index] = code
                yield GiveWay(request)
    # RESPOND
    by_topic: dict[str, list[Struct]] = {}
    for (name, index), code in codes.items():
        row = RESPONSE.struct(
            "AlterReplicaLogDirPartitionResult", partition_index=index, error_code=code
        )
        by_topic.setdefault(name, []).append(row)
        yield GiveWay(request)
    results = yield from for_each(
        request,
        by_topic.items(),
        lambda item: RESPONSE.struct(
            "AlterReplicaLogDirTopicResult", topic_name=item[0], partitions=item[1]
        ),
    )
    yield Respond(request, RESPONSE.new(results=results))


def code_of(broker: Broker, request: Request, path: str, name: str, index: int) -> ErrorCode:
    """Return the error for one replica, or NONE if this broker keeps it in the directory at
    `path`."""
    try:
        broker.access.require(request, ALTER_CLUSTER)
    except Refused as refused:
        return ErrorCode(refused.code)
    if path != broker.data_directory.path:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if cordons(broker.config.text(CORDONED), path):
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    if broker.replicas.get(name, index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE
