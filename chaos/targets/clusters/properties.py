"""The settings of one node of a KRaft cluster. Names: Kafka's broker configuration reference."""

from __future__ import annotations

from pathlib import Path

from chaos.targets.clusters.layout import LISTENERS, Layout
from chaos.values.detection import QUICK_FAILURE_DETECTION
from chaos.world import joined

SMALL = {
    "num.network.threads": "2",
    "num.io.threads": "4",
    "log.cleaner.dedupe.buffer.size": "16777216",  # 128 MiB by default: half of our heap
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}


def properties_of(layout: Layout, node: int, data: Path) -> dict[str, str]:
    """Return the default settings of a node; the caller adds the user's."""
    replicas, in_sync = _copies(layout)
    return {
        **_addresses(layout, node),
        "log.dirs": str(data),
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "true",
        **SMALL,
        **QUICK_FAILURE_DETECTION,
    }


def apache_properties(layout: Layout, node: int, data: Path) -> dict[str, str]:
    """Return the default settings of a node of Apache Kafka, which has a share coordinator, too."""
    replicas, in_sync = _copies(layout)
    return {
        **properties_of(layout, node, data),
        "share.coordinator.state.topic.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
    }


def _copies(layout: Layout) -> tuple[str, str]:
    """Return the replication factor and min.insync.replicas for topics of this cluster."""
    return str(min(layout.nodes, 3)), "2" if layout.nodes >= 3 else "1"


def _addresses(layout: Layout, node: int) -> dict[str, str]:
    bound = [f"{name}://{joined(layout.bound(name, node))}" for name in LISTENERS]
    told = [f"{name}://{joined(layout.advertised(name, node))}" for name in LISTENERS]
    quorum = {peer: joined(layout.advertised("CONTROLLER", peer)) for peer in layout.numbers()}
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": ",".join(f"{n}@{where}" for n, where in quorum.items()),
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join(bound),
        # Advertise the controller's listener, too. A new leader of the quorum names it to its peers
        # (KIP-853, BeginQuorumEpoch); otherwise it would name the one behind the proxies.
        "advertised.listeners": ",".join(told),
        "inter.broker.listener.name": "INTERNAL",
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in LISTENERS),
    }
