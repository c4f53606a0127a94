"""A node whose partitions have a follower, which exists only in what the test says of it."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.tests.world import World
from reference_impl.wire import definition

OWN, FOLLOWER = 1, 2


class Replicated:
    """One partition of a world, with the controller's word and the follower's log in hand."""

    def __init__(self, world: World, topic: str, index: int = 0) -> None:
        self.world, self.topic, self.index = world, topic, index
        broker = world.node.broker
        # The follower fetches when the test says so, which may be never.
        broker.config = broker.config.under({"replica.lag.time.max.ms": str(1 << 40)})
        self.change(replicas=[OWN, FOLLOWER], isr=[OWN, FOLLOWER])
        self.catch_up()

    @property
    def partition(self) -> Partition:
        """The partition, whoever leads it."""
        found = self.world.node.broker.replicas.get(self.topic, self.index)
        assert found is not None
        return found

    def change(self, **fields: object) -> None:
        """Write a PartitionChangeRecord with these fields, and let what waits go on."""
        record = definition("PartitionChangeRecord").new(
            topic_id=self.partition.topic_id, partition_id=self.index, **fields
        )
        self.world.node.broker.controller.write([record])
        self.world.settle()

    def follow(self, log_end_offset: int) -> None:
        """Let the follower's log reach an offset."""
        self.partition.follower_reached(FOLLOWER, log_end_offset)
        self.world.settle()

    def catch_up(self) -> None:
        """Let the follower have everything."""
        self.follow(self.partition.log.log_end_offset)

    def lose_leadership(self) -> None:
        """Let another node lead."""
        self.change(leader=FOLLOWER)
