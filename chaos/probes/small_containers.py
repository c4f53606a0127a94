"""A cluster of three small nodes in containers, with the same links as Apache Kafka's
containers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from chaos.means.docker.containers import Container, Engine
from chaos.probes import small_node
from chaos.probes.small_cluster import COMMON, NODES, SmallCluster
from chaos.targets.clusters.layout import LISTENERS
from chaos.targets.dockerized.cluster import ContainerCluster, ContainerTarget, Maker
from chaos.targets.dockerized.network import Network
from chaos.targets.dockerized.reference import IMAGE
from chaos.values.fault_kinds import LINK_FAULTS
from chaos.world import joined

PROGRAM = "/small_node.py"


class SmallContainers(SmallCluster, ContainerCluster):
    """A cluster in containers that is ready when every node answers PONG."""


class SmallTarget(ContainerTarget):
    """A target whose nodes are `small_node.py` in containers instead of Kafka brokers. Only the
    probes use it."""

    name = "small nodes in containers"
    version = "1"
    faults = LINK_FAULTS | COMMON
    cluster_class = SmallContainers

    def check(self, nodes: int) -> None:
        """Accept any number of nodes."""

    def makers(
        self,
        engine: Engine,
        network: Network,
        config: Mapping[str, str],
        places: Mapping[int, Path],
    ) -> dict[int, Maker]:
        return {number: partial(_make, engine, network, number) for number in places}


def _make(engine: Engine, network: Network, number: int, options: Mapping[str, Any]) -> Container:
    addresses = [joined(network.layout.bound(listener, number)) for listener in LISTENERS]
    command = ["python", "-I", "-S", PROGRAM, *addresses]
    container = engine.create(IMAGE, f"node {number}", command, **options)
    container.put({PROGRAM: Path(small_node.__file__).read_text("utf-8")})
    return container


def start(directory: Path) -> SmallContainers:
    """Start three small nodes in containers with every link proxied. Raise TargetError if one does
    not start."""
    return cast(SmallContainers, SmallTarget().start(directory, NODES, proxied=True))
