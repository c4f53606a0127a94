"""DescribeLogDirs (API key 35). Spec: KIP-113; KIP-827 (space of the volume, v4), KIP-1066
(cordoned directories, v5).

Not modelled: a second log directory, and replicas that move from one to the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.log.directories.cordoned import CORDONED, cordons
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.security.authorization.permissions import DESCRIBE_CLUSTER
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("DescribeLogDirsResponse")


def handle_describe_log_dirs(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the sizes of the requested partitions, or of all, in the data directory. Leave
    out partitions that are not on this broker."""
    # VALIDATE: what is not here is left out.
    if not broker.access.may(request, DESCRIBE_CLUSTER):
        yield Respond(request, RESPONSE.new(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        return
    # DEDUPLICATE, APPLY: reading changes nothing.
    by_topic: dict[str, list[Struct]] = {}
    for partition in wanted_partitions(broker, request.body.topics):
        if partition is not None:
            by_topic.setdefault(partition.topic, []).append(described(partition))
        yield GiveWay(request)
    directory = RESPONSE.struct("DescribeLogDirsResult", log_dir=broker.data_directory.path)
    # [New in v5: KIP-1066]
    directory.is_cordoned = cordons(broker.config.text(CORDONED), broker.data_directory.path)
    # [New in v4: KIP-827]
    space = broker.data_directory.space()
    if space is not None:
        directory.total_bytes, directory.usable_bytes = space.total_bytes, space.usable_bytes
    directory.topics = [
        RESPONSE.struct("DescribeLogDirsTopic", name=name, partitions=partitions)
        for name, partitions in by_topic.items()
    ]
    # RESPOND
    yield Respond(request, RESPONSE.new(results=[directory]))


def wanted_partitions(broker: Broker, topics: list[Struct] | None) -> Iterator[Partition | None]:
    """Yield the requested partitions, None for each that is not on this broker. If `topics` is
    None, yield all."""
    if topics is None:
        yield from broker.replicas
        return
    for name, index in dict.fromkeys(
        (wanted.topic, index) for wanted in topics for index in wanted.partitions
    ):
        yield broker.replicas.get(name, index)


def described(partition: Partition) -> Struct:
    """Return the row of one partition, with the size of its log in bytes, and by how many offsets
    its log end is behind the high watermark (0 if it is not)."""
    return RESPONSE.struct(
        "DescribeLogDirsPartition",
        partition_index=partition.index,
        partition_size=partition.log.size_bytes,
        offset_lag=max(0, partition.high_watermark - partition.log.log_end_offset),
    )
