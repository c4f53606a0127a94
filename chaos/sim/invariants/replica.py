"""One replica of a partition, or of the metadata log, as the invariants see it."""

from __future__ import annotations

from dataclasses import dataclass

from reference_impl.core.broker import Broker
from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.quorum.metadata_log import METADATA, TOPIC_ID

Key = tuple[object, int]
"""The topic's id and the partition's index."""
METADATA_KEY: Key = (TOPIC_ID, METADATA[1])


@dataclass(frozen=True)
class Replica:
    """A replica and its leadership after a step of its node."""

    node: int
    name: str
    key: Key
    log: PartitionLog
    leader_epoch: int
    leads: bool
    """Whether its node acts as the leader of this epoch."""
    isr: tuple[int, ...]
    """The members of the ISR as the leader knows them; empty for the metadata log."""
    min_isr: int = 0
    """The least size that the ISR must have (min.insync.replicas)."""
    partition_epoch: int = 0
    """The number of changes of the leader or the ISR that the node knows."""

    @property
    def led_in(self) -> int | None:
        """The epoch in which its node leads, None if it follows."""
        return self.leader_epoch if self.leads else None


def metadata_replica(broker: Broker) -> Replica:
    """Return a node's replica of the metadata log."""
    quorum = broker.quorum
    log = quorum.log.log
    return Replica(
        broker.node_id, METADATA[0], METADATA_KEY, log, quorum.epoch, quorum.is_leader, ()
    )


def replica_of(node: int, partition: Partition) -> Replica:
    """Return a node's replica of a partition."""
    state = partition.state
    return Replica(
        node,
        f"{partition.topic}-{partition.index}",
        (partition.topic_id, partition.index),
        partition.log,
        state.leader_epoch,
        partition.leads,
        state.isr,
        partition.min_isr,
        state.partition_epoch,
    )
