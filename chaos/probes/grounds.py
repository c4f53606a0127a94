"""The kinds of clusters on which probes run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from chaos.means import disks, links, shim
from chaos.means.docker import containers
from chaos.means.java import find_java
from chaos.means.links import LinkError
from chaos.means.netns import namespaces
from chaos.probes import clocks, small_cluster, small_containers
from chaos.probes.frame import Backend, Ground
from chaos.targets.apache import ApacheKafka
from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.dockerized.apache import DockerizedApache
from chaos.targets.dockerized.reference import DockerizedReference
from chaos.targets.reference import Reference
from chaos.values.protocols import Target, TargetError

CONFIG = {"num.partitions": "2"}


WITH_CLOCK = {**CONFIG, "log.message.timestamp.after.max.ms": str(clocks.AFTER_MAX_MS)}


def _starter(
    target: Target, nodes: int = 1, config: Mapping[str, str] = CONFIG
) -> Callable[[Path], LocalCluster]:
    def start(directory: Path) -> LocalCluster:
        return cast(LocalCluster, target.start(directory, nodes, config, proxied=True))

    return start


def _no_toxiproxy() -> str | None:
    try:
        links.toxiproxy_server()
    except LinkError as error:
        return str(error)
    return None


def _no_disks() -> str | None:
    return _no_toxiproxy() or disks.why_none()


def _no_shim() -> str | None:
    return _no_toxiproxy() or shim.why_none()


def _no_apache() -> str | None:
    try:
        find_java()
        ApacheKafka().jars()
    except TargetError as error:
        return str(error)
    return _no_toxiproxy()


def _no_disks_in_containers() -> str | None:
    return containers.why_none() or disks.why_none()


def _no_shim_in_containers() -> str | None:
    return containers.why_none() or shim.why_none()


REFERENCE = Ground("reference", Backend.PROCESS, _starter(Reference()), _no_toxiproxy)
REFERENCE_ON_DISKS = Ground(
    "reference on its own disk", Backend.ROOT, _starter(Reference().with_disks()), _no_disks
)
REFERENCE_WITH_SHIM = Ground(
    "reference with the shim",
    Backend.PROCESS,
    _starter(Reference().with_shim(), config=WITH_CLOCK),
    _no_shim,
)
THREE_NODES = Ground("three small nodes", Backend.PROCESS, small_cluster.start, _no_toxiproxy)
"""Three small nodes as child processes, for faults of links between nodes. They have the same
addresses and proxies as three nodes of Apache Kafka."""
THREE_NAMESPACES = Ground(
    "three small nodes in namespaces",
    Backend.ROOT,
    small_cluster.start_in_namespaces,
    namespaces.why_none,
)
APACHE = Ground(
    "apache:4.3.1, three nodes", Backend.PROCESS, _starter(ApacheKafka(), 3), _no_apache, True
)

IN_CONTAINERS: Mapping[Ground, Ground] = {
    ground: Ground(name, Backend.DOCKER, start, why_not, nightly=True)
    for ground, name, start, why_not in (
        (REFERENCE, "docker:reference", _starter(DockerizedReference()), containers.why_none),
        (
            REFERENCE_ON_DISKS,
            "docker:reference on its own disk",
            _starter(DockerizedReference().with_disks()),
            _no_disks_in_containers,
        ),
        (
            REFERENCE_WITH_SHIM,
            "docker:reference with the shim",
            _starter(DockerizedReference().with_shim(), config=WITH_CLOCK),
            _no_shim_in_containers,
        ),
        (
            THREE_NODES,
            "three small nodes in containers",
            small_containers.start,
            containers.why_none,
        ),
        (
            APACHE,
            "docker:apache:4.3.1, three nodes",
            _starter(DockerizedApache(), 3),
            containers.why_none,
        ),
    )
}
"""A ground of child processes -> the same ground in containers. Every probe of the first also runs
on the second."""
