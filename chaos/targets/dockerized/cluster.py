"""Nodes in containers: the same cluster as of processes, each child a container."""

from __future__ import annotations

import atexit
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos import leftovers
from chaos.containers import Container, Engine
from chaos.disks import Disk
from chaos.faults import (
    ADMIN_FAULTS,
    LINK_FAULTS,
    PROCESS_FAULTS,
    DiskFull,
    DiskStall,
    Fault,
    Heal,
    PowerLoss,
)
from chaos.links import LinkError
from chaos.protocols import Cluster, Performed, TargetError
from chaos.targets.cluster import LocalCluster, LocalNode
from chaos.targets.disk_faults import disks_for
from chaos.targets.dockerized import network as networks
from chaos.targets.dockerized.network import PORTS, Network
from chaos.targets.listeners import LISTENERS

ABLE: frozenset[type[Fault]] = (
    PROCESS_FAULTS | LINK_FAULTS | ADMIN_FAULTS | {DiskStall, DiskFull, PowerLoss, Heal}
)
"""What can be done to containers, if the implementation in them is able."""
DATA = "/data"
"""Where a node's data is, in its container."""


@dataclass
class ContainerNode(LocalNode):
    """A node whose process is a container: made by the first start, started again by the next."""

    make: Callable[[], Container] | None = field(default=None, repr=False)
    container: Container | None = field(default=None, repr=False)

    def start(self) -> None:
        if self.container is None:
            assert self.make is not None
            self.directory.mkdir(parents=True, exist_ok=True)
            self.child = self.container = self.make()
        if not self.container.running:
            self.container.start()

    def stop(self) -> None:
        """Removed with it: its data are not needed any more, and nothing may hold its disk."""
        if self.container is not None:
            self.container.remove()
            self.child = self.container = None


class ContainerCluster(LocalCluster):
    """What LocalCluster does, and at the end all that was made is removed."""

    engine: Engine
    network: Network

    def perform(self, fault: Fault) -> Performed:
        """Raises DaemonLost, which ends a run, where LocalCluster would note that a link is odd."""
        self.engine.check()
        return super().perform(fault)

    def collect(self, into: Path) -> None:
        """The logs are Docker's until now."""
        for member in self.members():
            if isinstance(member, ContainerNode) and member.container is not None:
                member.log.write_text(member.container.log(), "utf-8")
        super().collect(into)

    def stop(self) -> None:
        try:
            super().stop()
        finally:
            self.engine.remove_all()
        atexit.unregister(self._at_exit)

    def _at_exit(self) -> None:
        """Before the disks are removed, which chaos.disks does at exit, too."""
        with suppress(TargetError):
            self.stop()


class ContainerTarget(ABC):
    """What runs in containers: subclasses say in which image, and how."""

    name: str
    version: str
    faults: frozenset[type[Fault]]
    cluster_class: type[ContainerCluster] = ContainerCluster
    on_disks = False

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Make network and containers, and wait until every broker knows every other."""
        self.check(nodes)
        if LISTENERS in (config or {}):
            raise TargetError(f"{self.name} publishes its own listeners only; leave out listeners")
        directory = directory.resolve()
        leftovers.remove()
        engine = Engine.connect()
        try:
            with disks_for(directory, nodes, self.on_disks) as disks:
                return self._start(engine, directory, nodes, config or {}, proxied, disks)
        except BaseException as error:
            with suppress(TargetError):
                engine.remove_all()
            if isinstance(error, LinkError | OSError):
                raise TargetError(f"{self.name} cannot be started: {error}") from error
            raise

    def _start(
        self, engine: Engine, directory: Path, nodes: int, config: Mapping[str, str],
        proxied: bool, disks: Mapping[int, Disk],
    ) -> Cluster:  # fmt: skip
        network = networks.build(engine, nodes, proxied)
        makers = self.makers(engine, network, config)
        members = []
        for number, sidecar in network.sidecars.items():
            place = _data_place(engine, number, disks.get(number))
            options = {
                "network_mode": f"container:{sidecar.id}",
                "volumes": {place: {"bind": DATA, "mode": "rw"}},
                "user": "0:0",  # a new volume belongs to root, whom the published images are not
            }
            direct = sidecar.published(PORTS["CLIENT"])
            home = directory / "nodes" / str(number)
            member = ContainerNode(number, (), direct, home)
            member.disk = disks.get(number)
            member.make = _bound(makers[number], options)
            members.append(member)
        cluster = self.cluster_class(
            self.name, self.version, network.bootstrap, members, self.faults, network.links
        )
        cluster.engine, cluster.network = engine, network
        atexit.register(cluster._at_exit)
        cluster.start()
        return cluster

    @abstractmethod
    def check(self, nodes: int) -> None:
        """Raise TargetError for what cannot be had."""

    @abstractmethod
    def makers(
        self, engine: Engine, network: Network, config: Mapping[str, str]
    ) -> dict[int, Maker]:
        """For each node what makes its container, given the options of every node."""


Maker = Callable[[Mapping[str, Any]], Container]


def _bound(maker: Maker, options: Mapping[str, Any]) -> Callable[[], Container]:
    return lambda: maker(options)


def _data_place(engine: Engine, number: int, disk: Disk | None) -> str:
    """A volume of Docker's, or the disk of its own, one level below its root (disk_faults)."""
    return engine.volume(f"data-{number}") if disk is None else str(disk.mount_point / "data")
