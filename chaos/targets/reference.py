"""The reference broker in a child process; clients reach it through one proxied link."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from chaos.means import leftovers
from chaos.means.disks import Disk
from chaos.means.links import Link, LinkError, Links
from chaos.means.ports import NoFreePort, free_ports
from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.clusters.equipment import disks_for, preload
from chaos.targets.clusters.layout import LOOPBACK, client_link
from chaos.targets.clusters.listeners import with_listeners
from chaos.targets.clusters.node import LocalNode
from chaos.targets.faults import performers_of
from chaos.values.faults import (
    DISK_FAULTS,
    PROCESS_FAULTS,
    SHIM_FAULTS,
    TOXIC_FAULTS,
    AdminStorm,
    BitFlip,
    CutClients,
    DelayAnswers,
    Fault,
    Heal,
)
from chaos.values.protocols import Cluster, TargetError
from chaos.world import Address, joined
from reference_impl.host.properties import write_private

FAULTS: frozenset[type[Fault]] = (
    PROCESS_FAULTS
    | DISK_FAULTS
    | SHIM_FAULTS
    | TOXIC_FAULTS
    | {BitFlip, CutClients, DelayAnswers, AdminStorm, Heal}
)
STOP_TIMEOUT_S = 10.0
_SOURCES = Path(__file__).resolve().parents[__name__.count(".")]
"""The folder from which a node's Python imports the broker: a checkout, or the folder where
Touchstone is installed."""


class Reference:
    """The reference broker, with or without a planted bug."""

    name = "reference"

    def __init__(
        self, bug: str | None = None, on_disks: bool = False, preloaded: bool = False
    ) -> None:
        self.bug = bug
        self.on_disks = on_disks
        self.preloaded = preloaded
        self.faults = FAULTS

    def with_bug(self, bug: str) -> Reference:
        """Return the same target with one planted bug (its name in reference_impl.bugs)."""
        return Reference(bug, self.on_disks, self.preloaded)

    def with_disks(self) -> Reference:
        """Return the same target with its data on a separate disk."""
        return Reference(self.bug, True, self.preloaded)

    def with_shim(self) -> Reference:
        """Return the same target with the preloaded shim."""
        return Reference(self.bug, self.on_disks, preloaded=True)

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Start the broker and wait until it serves."""
        if nodes != 1:
            raise TargetError(
                f"the reference broker runs 1 node for now, not {nodes}; for a cluster use"
                " apache:4.3.1 with 3 nodes"
            )
        directory = directory.resolve()  # the node has a working directory of its own
        leftovers.remove()
        with disks_for(directory, nodes, self.on_disks) as disks:
            return self._start(directory, config or {}, proxied, disks.get(1))

    def _start(
        self, directory: Path, config: Mapping[str, str], proxied: bool, disk: Disk | None
    ) -> Cluster:
        try:
            port, proxy_port, api_port = free_ports(3)
        except NoFreePort as error:
            raise TargetError(str(error)) from error
        direct = (LOOPBACK, port)
        seen = (LOOPBACK, proxy_port) if proxied else direct
        own = {
            "listeners": f"PLAINTEXT://{joined(direct)}",
            "advertised.listeners": f"PLAINTEXT://{joined(seen)}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT",
            "group.initial.rebalance.delay.ms": "0",  # as on apache; else each new group waits 3 s
        }
        settings, added = with_listeners(own, config)
        member = self._node(directory, direct, settings)
        member.disk = disk
        try:
            links = _links((LOOPBACK, api_port), direct, seen, directory) if proxied else None
        except (LinkError, OSError) as error:
            raise TargetError(str(error)) from error
        performers = performers_of(self.faults)
        cluster = LocalCluster(self.name, own_version(), joined(seen), [member], performers, links)
        cluster.listeners = added
        if self.preloaded:
            preload(cluster.members(), directory)
        cluster.start()
        return cluster

    def _node(self, directory: Path, direct: Address, settings: Mapping[str, str]) -> LocalNode:
        home = directory / "nodes" / "1"
        write_private(properties := home / "server.properties", settings)
        command = [
            sys.executable,
            "-m",
            "reference_impl.host",
            "--nodes",
            "1",
            "--data",
            str(directory / "data" / "1"),
            "--config-file",
            str(properties),
        ]
        if self.bug:
            command += ["--bug", self.bug]
        search_path = [str(_SOURCES), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {"PYTHONPATH": os.pathsep.join(search_path), "PYTHONUNBUFFERED": "1"}
        data = directory / "data" / "1"
        return LocalNode(1, command, direct, home, STOP_TIMEOUT_S, environment, data)


def _links(api: Address, direct: Address, seen: Address, directory: Path) -> Links:
    links = Links.start(api, directory / "nodes" / "toxiproxy.log")
    try:
        links.add([Link(client_link(1), seen, direct)])
    except BaseException:
        links.stop()
        raise
    return links


def own_version() -> str:
    try:
        return version("touchstone-kafka")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "source tree"


def with_bug_or_not(rest: str, bug: str | None) -> Reference:
    """Return the target, with the planted bug if one is named. Raise TargetError for a version,
    since the reference has none."""
    if rest:
        raise TargetError(f"the reference broker has no version {rest!r}; write `reference`")
    return Reference(bug)
