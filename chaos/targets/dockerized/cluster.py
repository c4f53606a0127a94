"""A cluster whose nodes are containers; otherwise like a cluster of child processes."""

from __future__ import annotations

import atexit
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from chaos.means import leftovers
from chaos.means.disks import Disk
from chaos.means.docker.containers import Container, Engine
from chaos.means.links import LinkError
from chaos.means.shim.control import LIBRARY, Shim, library
from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.clusters.equipment import Equippable, disks_for, preload
from chaos.targets.clusters.layout import Layout
from chaos.targets.clusters.listeners import LISTENERS
from chaos.targets.clusters.node import LocalNode
from chaos.targets.dockerized import network as networks
from chaos.targets.dockerized.network import PORTS, Network, Sidecar
from chaos.targets.faults import performers_of
from chaos.values.faults import Fault, Heal
from chaos.values.protocols import Cluster, Performed, TargetError

HOME = "/dev/shm"
"""The home directory of the user that a node runs as, since an image does not know that user."""
IS_PRELOADED = (
    f"grep -q {LIBRARY} /proc/self/maps || {{ echo 'this image cannot load the shim, built with"
    " the C library of another system; use the target without docker:' >&2; exit 1; }; "
)
"""The first command of a node's shell. It ends the container if the preloaded library is not
loaded, which would otherwise go unnoticed."""


@dataclass
class ContainerNode(LocalNode):
    """A node whose process is a container: the first start creates it, later ones restart it."""

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
        """Remove the container, so that nothing keeps its disk busy. Its data directory stays; a
        later start creates a new container."""
        if self.container is not None:
            self.container.remove()
            self.child = self.container = None


class ContainerCluster(LocalCluster):
    """A LocalCluster of containers; it removes everything that it has created when it stops."""

    engine: Engine
    network: Network
    layout: Layout

    def perform(self, fault: Fault) -> Performed:
        """Perform a fault as LocalCluster does. If Docker's daemon is gone, raise DaemonLost, which
        ends the run. That is checked only at a heal and when a fault fails, since most faults do
        not need Docker."""
        if isinstance(fault, Heal):
            self.engine.check()
        try:
            return super().perform(fault)
        except TargetError:
            self.engine.check()
            raise

    def collect(self, into: Path) -> None:
        """Write each container's output, which Docker keeps, to its node's log, and then copy the
        nodes' files as LocalCluster does. Raise ContainerError if Docker does not answer."""
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
        """Stop the cluster at exit, before chaos.means.disks removes the disks."""
        with suppress(TargetError):
            self.stop()


class ContainerTarget(Equippable, ABC):
    """The base of targets in containers: subclasses supply the image and the command."""

    name: str
    version: str
    faults: frozenset[type[Fault]]
    cluster_class: type[ContainerCluster] = ContainerCluster

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Create the network and the containers, and wait until every broker knows every other.
        Raise TargetError if it cannot be started, or if the configuration names listeners."""
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
        self,
        engine: Engine,
        directory: Path,
        nodes: int,
        config: Mapping[str, str],
        proxied: bool,
        disks: Mapping[int, Disk],
    ) -> Cluster:
        network = networks.build(engine, nodes, proxied)
        members = [
            self._member(directory, number, sidecar, disks.get(number))
            for number, sidecar in network.sidecars.items()
        ]
        if self.preloaded:
            preload(members, directory)
        places = {member.number: _place(member) for member in members}
        makers = self.makers(engine, network, config, places)
        user = engine.user()
        for member in members:
            options = _options(member, network.sidecars[member.number], user)
            member.make = partial(makers[member.number], options)
        performers = performers_of(self.faults)
        cluster = self.cluster_class(
            self.name, self.version, network.bootstrap, members, performers, network.links
        )
        cluster.engine, cluster.network, cluster.layout = engine, network, network.layout
        atexit.register(cluster._at_exit)
        cluster.start()
        return cluster

    def _member(
        self, directory: Path, number: int, sidecar: Sidecar, disk: Disk | None
    ) -> ContainerNode:
        direct = sidecar.seen(PORTS["CLIENT"])
        member = ContainerNode(number, (), direct, directory / "nodes" / str(number))
        member.disk, member.data = disk, directory / "data" / str(number)
        member.data.mkdir(parents=True, exist_ok=True)  # it may be a link to a disk
        return member

    @property
    def first_words(self) -> str:
        """Return the shell commands that a node's container must run before the broker. Return ""
        if there are none."""
        return IS_PRELOADED if self.preloaded else ""

    @abstractmethod
    def check(self, nodes: int) -> None:
        """Raise TargetError if this number of nodes cannot run here."""

    @abstractmethod
    def makers(
        self,
        engine: Engine,
        network: Network,
        config: Mapping[str, str],
        places: Mapping[int, Path],
    ) -> dict[int, Maker]:
        """Return, for each node, a function that creates its container, given the options that do
        not depend on the image (_options). `places`: node -> path of its data, which is the same
        inside and outside."""


Maker = Callable[[Mapping[str, Any]], Container]


def _options(member: ContainerNode, sidecar: Sidecar, user: str) -> Mapping[str, Any]:
    """Return the options of a node's container that do not depend on its image: network, volumes,
    environment and user. The data directory has the same path inside and outside, so that the paths
    in the shim's ledger are valid here."""
    place = str(_place(member))
    volumes = {place: {"bind": place, "mode": "rw"}}
    environment = {"HOME": HOME}
    if member.shim is not None:
        volumes |= _volumes(member.shim)
        environment |= {**member.shim.environment, "LD_PRELOAD": str(library())}
    return {
        "network_mode": f"container:{sidecar.container.id}",
        "volumes": volumes,
        "environment": environment,
        "user": user,
    }


def _volumes(shim: Shim) -> dict[str, dict[str, str]]:
    """Return the volumes with the shim's own files, in the form that Docker's API expects."""
    home, program = str(shim.medium.ledger.parent), str(library())
    return {home: {"bind": home, "mode": "rw"}, program: {"bind": program, "mode": "ro"}}


def _place(member: ContainerNode) -> Path:
    """Return the resolved path of a node's data directory. On a disk of its own, it is one level
    below the root of the file system (equipment.py says why)."""
    assert member.data is not None
    return member.data.resolve()
