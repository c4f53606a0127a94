"""The replica that a leader tells a consumer to read from (KIP-392).

Source: ReplicaManager.java (findPreferredReadReplica), RackAwareReplicaSelector.java.
"""

from __future__ import annotations

from reference_impl.core.broker import Broker
from reference_impl.core.configs.broker import RACK_AWARE
from reference_impl.core.partitions.partition import Partition


def preferred_replica(broker: Broker, partition: Partition, rack: str, offset: int) -> int | None:
    """Return the follower in the consumer's rack whose log is the longest, among the living ones in
    the ISR whose logs have the offset. Return None if the consumer should read from this broker: it
    is in the same rack or is not the leader, there is no such follower, the consumer named no rack,
    or replica.selector.class is not the rack-aware one."""
    if not rack or broker.config.text("replica.selector.class") != RACK_AWARE:
        return None
    alive = {node: each for node, each in broker.image.brokers.items() if not each.fenced}
    near = {node for node, each in alive.items() if each.rack == rack}
    if not partition.leads or broker.node_id in near:
        return None
    found = [
        (follower.log_end_offset, follower.caught_up_ms, replica)
        for replica, follower in partition.followers.items()
        if replica in near
        and replica in partition.state.isr
        and follower.log_start_offset <= offset <= follower.log_end_offset
    ]
    return max(found)[2] if found else None
