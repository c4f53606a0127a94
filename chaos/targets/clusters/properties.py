"""Write server.properties of one Apache Kafka node. Names: Kafka's broker configuration
reference."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from chaos.targets.clusters.layout import LISTENERS, Layout
from chaos.world import joined

QUICK_FAILURE_DETECTION = {
    # A dead broker is fenced in 3 s instead of 9, a slow follower leaves the ISR in 5 instead of
    # 30: a run of a minute then sees several elections. And a killed broker, which may register
    # again only when its old session has ended, is back so much sooner.
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
    "replica.lag.time.max.ms": "5000",
    "replica.socket.timeout.ms": "3000",
    "replica.fetch.wait.max.ms": "200",
    "controller.quorum.request.timeout.ms": "1000",
}
SMALL = {
    "num.network.threads": "2",
    "num.io.threads": "4",
    "log.cleaner.dedupe.buffer.size": "16777216",  # 128 MiB by default: half of our heap
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
}


ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


def properties_of(layout: Layout, node: int, data: Path) -> dict[str, str]:
    """Return all default settings of a node; the caller adds the user's."""
    replicas = str(min(layout.nodes, 3))
    in_sync = "2" if layout.nodes >= 3 else "1"
    return {
        **_addresses(layout, node),
        "log.dirs": str(data),
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "true",
        **SMALL,
        **QUICK_FAILURE_DETECTION,
    }


def as_text(settings: Mapping[str, str]) -> str:
    """Return the settings in the format of java.util.Properties; a value of several lines, such as
    a PEM key, becomes one line."""
    return "".join(
        f"{_escaped(key, '=: #!')}={_escaped(value)}\n" for key, value in settings.items()
    )


def _escaped(text: str, more: str = "") -> str:
    """Return a key or a value with escapes. Only a blank at its beginning is escaped."""
    found = []
    for at, character in enumerate(text):
        if character in ESCAPES:
            found.append(ESCAPES[character])
        elif character in more or (character == " " and at == 0):
            found.append(f"\\{character}")
        elif character > "~":
            units = character.encode("utf-16-be")
            found += [f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)]
        else:
            found.append(character)
    return "".join(found)


def write_private(file: Path, settings: Mapping[str, str]) -> None:
    """Write a file that only this user can read, since the settings may contain passwords."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="ascii") as writer:
        writer.write(as_text(settings))


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
        # The controller's too: a new leader of the quorum tells its peers this endpoint (KIP-853,
        # BeginQuorumEpoch), and otherwise the one it is bound to, past the proxies.
        "advertised.listeners": ",".join(told),
        "inter.broker.listener.name": "INTERNAL",
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in LISTENERS),
    }
