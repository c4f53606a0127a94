"""The grounds that probes stand on, one value each."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from chaos import disks, links, shim
from chaos.links import LinkError
from chaos.netns import namespaces
from chaos.probes import clocks, small_cluster
from chaos.probes.frame import Backend, Ground
from chaos.protocols import Target, TargetError
from chaos.targets.apache import ApacheKafka
from chaos.targets.cluster import LocalCluster
from chaos.targets.java import find_java
from chaos.targets.reference import Reference

CONFIG = {"num.partitions": "2"}


def _started(target: Target, directory: Path, nodes: int) -> LocalCluster:
    return cast(LocalCluster, target.start(directory, nodes, CONFIG, proxied=True))


def _reference(directory: Path) -> LocalCluster:
    return _started(Reference(), directory, 1)


def _reference_on_disks(directory: Path) -> LocalCluster:
    return _started(Reference().with_disks(), directory, 1)


def _reference_with_shim(directory: Path) -> LocalCluster:
    config = {**CONFIG, "log.message.timestamp.after.max.ms": str(clocks.AFTER_MAX_MS)}
    target = Reference().with_shim()
    return cast(LocalCluster, target.start(directory, 1, config, proxied=True))


def _apache(directory: Path) -> LocalCluster:
    return _started(ApacheKafka(), directory, 3)


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


REFERENCE = Ground("reference", Backend.PROCESS, _reference, _no_toxiproxy)
REFERENCE_ON_DISKS = Ground(
    "reference on its own disk", Backend.ROOT, _reference_on_disks, _no_disks
)
REFERENCE_WITH_SHIM = Ground(
    "reference with the shim", Backend.PROCESS, _reference_with_shim, _no_shim
)
THREE_NODES = Ground("three small nodes", Backend.PROCESS, small_cluster.start, _no_toxiproxy)
"""For links between nodes: the same layout and proxies as three nodes of Apache Kafka have."""
THREE_NAMESPACES = Ground(
    "three small nodes in namespaces",
    Backend.ROOT,
    small_cluster.start_in_namespaces,
    namespaces.why_none,
)
APACHE = Ground("apache:4.3.1, three nodes", Backend.PROCESS, _apache, _no_apache, nightly=True)
