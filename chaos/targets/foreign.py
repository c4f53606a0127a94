"""Any Kafka-compatible cluster, described by a TOML file (foreign_file.py): `--target FILE.toml`.

The available faults follow from what the file gives for every node: an address alone can be
administered; a start command beside kill, stop or a pid file can be killed and restarted; a pid
file, or pause and resume, can be paused; a service of Compose can do all of that.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from chaos import leftovers
from chaos.faults import ADMIN_FAULTS, Fault, Heal, Kill, Pause, Shutdown
from chaos.links import joined
from chaos.protocols import Cluster, TargetError
from chaos.targets.cluster import LocalCluster
from chaos.targets.foreign_file import Foreign, ForeignNode, read
from chaos.targets.foreign_node import ForeignMember, ForeignProcess, run

SUFFIX = ".toml"


def faults_of(foreign: Foreign) -> frozenset[type[Fault]]:
    """Return the faults that can be performed on every one of its nodes."""
    return frozenset.intersection(*map(_faults_of_node, foreign.nodes))


def _faults_of_node(node: ForeignNode) -> frozenset[type[Fault]]:
    faults: set[type[Fault]] = {Heal, *ADMIN_FAULTS}
    if node.start and (node.kill or node.pid_file):
        faults.add(Kill)
    if node.start and (node.stop or node.pid_file):
        faults.add(Shutdown)
    if node.pid_file or node.pause:
        faults.add(Pause)
    return frozenset(faults)


class ForeignCluster(LocalCluster):
    """It ends as it was found: what ran before it was attacked runs on (ForeignMember)."""

    kept_logs: Mapping[int, Path]

    def collect(self, into: Path) -> None:
        """Collect what its commands printed, and the logs that were named."""
        super().collect(into)
        for number, log in self.kept_logs.items():
            with suppress(OSError):  # a log that is not there is no reason to lose a run
                shutil.copy2(log, into / str(number) / log.name)


class ForeignTarget:
    """`--target FILE.toml`. Raises TargetError for a file that describes no cluster."""

    def __init__(self, file: Path) -> None:
        self._foreign = read(file)
        self.name = str(file)
        """As it was typed: what reproduces a run."""
        self.faults = faults_of(self._foreign)
        self.nodes = len(self._foreign.nodes)

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Reset the cluster if there is a command for that, start what does not run, and wait until
        it is ready."""
        if config:
            raise TargetError(
                f"{self.name} is configured by its owner; leave out {', '.join(config)}"
            )
        leftovers.remove()
        foreign = self._foreign
        if foreign.reset is not None:
            run(foreign.reset, foreign.folder)
        members = []
        for number, node in enumerate(foreign.nodes, 1):
            home = directory.resolve() / "nodes" / str(number)
            home.mkdir(parents=True, exist_ok=True)
            member = ForeignMember(number, node.start or (), node.address, home)
            member.process = ForeignProcess(node, foreign.folder, member.log)
            members.append(member)
        bootstrap = ",".join(joined(node.address) for node in foreign.nodes)
        cluster = ForeignCluster(self.name, "unknown", bootstrap, members, self.faults)
        cluster.lowest_broker_id = foreign.lowest_broker_id
        cluster.kept_logs = {n: node.log for n, node in enumerate(foreign.nodes, 1) if node.log}
        cluster.start()
        return cluster
