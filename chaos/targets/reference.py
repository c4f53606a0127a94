"""The reference broker in child processes, one for each node of a KRaft cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from chaos.means import leftovers
from chaos.means.disks import Disk
from chaos.targets.apache import FAULTS, existing_cluster, kafka_uuid
from chaos.targets.clusters.equipment import Equippable, disks_for, preload
from chaos.targets.clusters.kraft import KraftCluster, laid_out, undone_on_failure
from chaos.targets.clusters.layout import Layout
from chaos.targets.clusters.listeners import with_listeners
from chaos.targets.clusters.node import LocalNode
from chaos.targets.clusters.properties import properties_of
from chaos.values.protocols import Cluster, TargetError
from reference_impl.host.settings import properties

NODES_MAX = 9
STOP_TIMEOUT_S = 10.0
_SOURCES = Path(__file__).resolve().parents[__name__.count(".")]
"""The folder from which a node's Python imports the broker: a checkout, or the place where
Touchstone is installed."""


class Reference(Equippable):
    """The reference broker in child processes, with or without a planted bug."""

    name = "reference"

    def __init__(self, bug: str | None = None) -> None:
        self.bug = bug
        self.faults = FAULTS

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Start the nodes and wait until each serves and knows all others. Raise TargetError for a
        number of nodes that it does not run, or if they do not become ready."""
        if not 1 <= nodes <= NODES_MAX:
            raise TargetError(
                f"{self.name} runs 1 to {NODES_MAX} nodes, not {nodes}; choose one of these"
            )
        directory = directory.resolve()  # each node runs in a working directory of its own
        leftovers.remove()
        with disks_for(directory, nodes, self.on_disks) as disks:
            return self._start(directory, nodes, config or {}, proxied, disks)

    def _start(
        self,
        directory: Path,
        nodes: int,
        config: Mapping[str, str],
        proxied: bool,
        disks: Mapping[int, Disk],
    ) -> Cluster:
        layout, links = laid_out(self.name, directory, nodes, proxied)
        with undone_on_failure(self.name, layout, links):
            cluster_id = existing_cluster(directory) or kafka_uuid()
            members, added = self.nodes_of(directory, layout, layout.numbers(), config, cluster_id)
            for member in members:
                member.disk = disks.get(member.number)
            if self.preloaded:
                preload(members, directory)
        named = self.name, own_version()
        cluster = KraftCluster(named, members, self.faults, (layout, links), added)
        cluster.start()
        return cluster

    def nodes_of(
        self,
        directory: Path,
        layout: Layout,
        numbers: Iterable[int],
        config: Mapping[str, str],
        cluster_id: str,
    ) -> tuple[list[LocalNode], list[dict[str, str]]]:
        """Write the settings of these nodes. Return the nodes, which format their directories when
        they start, and name -> address of the additional listeners of each. Raise TargetError for
        `listeners` in `config` that are not NAME://host:port[,…]."""
        members, added = [], []
        for number in numbers:
            own = properties_of(layout, number, directory / "data" / str(number))
            settings, listeners = with_listeners(own, config)
            added.append(listeners)
            member = self._node(directory, layout, number, settings)
            member.command = [*member.command, "--cluster-id", cluster_id]
            members.append(member)
        return members, added

    def _node(
        self, directory: Path, layout: Layout, number: int, settings: Mapping[str, str]
    ) -> LocalNode:
        """Write the settings and the hosts file of a node, and return the node, not started."""
        home, data = directory / "nodes" / str(number), directory / "data" / str(number)
        properties.write_private(file := home / "server.properties", settings)
        command = [sys.executable, "-m", "reference_impl.host", "--config-file", str(file)]
        if layout.network is not None:
            hosts = home / "hosts"
            hosts.write_text(layout.hosts_file(number))
            command += ["--resolver", str(hosts)]
        if self.bug:
            command += ["--bug", self.bug]
        search_path = [str(_SOURCES), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {"PYTHONPATH": os.pathsep.join(search_path), "PYTHONUNBUFFERED": "1"}
        # In a cluster that ends, the last nodes would wait in vain for a majority: kill at once.
        patience_s = STOP_TIMEOUT_S if layout.nodes == 1 else 0.0
        direct = layout.bound("CLIENT", number)
        return LocalNode(number, command, direct, home, patience_s, environment, data)


def own_version() -> str:
    try:
        return version("touchstone-kafka")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "source tree"


def with_bug_or_not(rest: str, bug: str | None) -> Reference:
    """Return the target, with the planted bug if one is named; an unknown bug is refused only when
    a node starts. Raise TargetError for a version, since the reference has none."""
    if rest:
        raise TargetError(f"the reference broker has no version {rest!r}; write `reference`")
    return Reference(bug)
