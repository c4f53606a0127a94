"""Followers: consumers that fetch from the replica in their own rack."""

from __future__ import annotations

from collections.abc import Mapping

from chaos.values.protocols import ClientSettings
from chaos.workloads.appends import Appends

RACKS = 3


class ReadFromFollower(Appends):
    """Append records, and poll them with consumers in three racks, each from the replica in its own
    rack (KIP-392).

    A follower returns only records below the high watermark that it knows: perhaps late, but never
    records that are lost afterwards.
    """

    name = topic = "read-from-follower"
    config: Mapping[str, str] = {
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "broker.rack": "rack-{node}",
    }
    partitions = 6
    nodes_min = RACKS
    producers = 4
    pollers = RACKS
    processes = producers + pollers

    def settings(self, process: int) -> ClientSettings:
        if process < self.producers:
            return ClientSettings(acks=-1, idempotent=True)
        return ClientSettings(rack=f"rack-{process % RACKS + 1}")
