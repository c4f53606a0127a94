"""Start Apache Kafka in ZooKeeper mode: one ZooKeeper server, and one or three brokers. Kafka 3.9
is the last release that has this mode (KIP-833).

ZooKeeper itself is no node: no fault affects it, and no proxy stands between it and the brokers. So
links cannot be cut here.
"""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos.means import leftovers
from chaos.means.ports import free_ports
from chaos.targets import apache
from chaos.targets.apache import NODES_ALLOWED, ApacheKafka
from chaos.targets.clusters.cluster import POLL_S, LocalCluster
from chaos.targets.clusters.kraft import laid_out, undone_on_failure
from chaos.targets.clusters.layout import LOOPBACK, Layout
from chaos.targets.clusters.listeners import by_name
from chaos.targets.clusters.node import LocalNode
from chaos.targets.clusters.properties import apache_properties
from chaos.targets.faults import performers_of
from chaos.values.fault_kinds import PROCESS_FAULTS
from chaos.values.faults import Fault, Heal
from chaos.values.protocols import Cluster, TargetError
from chaos.world import Address, joined

RELEASE, MODE = "3.9.1", "zookeeper"
NAMED = f"{RELEASE}-{MODE}"
VERSIONS = {f"3.9-{MODE}": NAMED, NAMED: NAMED}
"""Accepted version -> the pinned release with its mode."""
FAULTS: frozenset[type[Fault]] = PROCESS_FAULTS | {Heal}
OF_QUORUM = ("process.roles", "controller.quorum.voters", "controller.listener.names")
"""Settings of a KRaft node, which a broker in ZooKeeper mode refuses or must not have."""
LISTENERS = ("CLIENT", "INTERNAL")
SESSION = {
    "zookeeper.connection.timeout.ms": "60000",  # as patient as a busy machine needs
    "zookeeper.session.timeout.ms": "6000",
}
SERVER = """\
dataDir={data}
clientPort={port}
clientPortAddress={host}
tickTime=1000
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=ruok,dump
"""
"""The configuration of ZooKeeper (ZooKeeper Administrator's Guide)."""
HEAP = ("-Xms32m", "-Xmx128m")
READY_TIMEOUT_S, EXPIRY_TIMEOUT_S, ASK_TIMEOUT_S = 120.0, 60.0, 5.0


class ApacheOnZooKeeper(ApacheKafka):
    """Apache Kafka 3.9.1 whose brokers keep their metadata in ZooKeeper."""

    def __init__(self, full_speed: bool = False) -> None:
        super().__init__(RELEASE, full_speed)
        self.name = f"apache:{NAMED}"
        self.faults = FAULTS

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Start ZooKeeper and the brokers, and wait until every broker knows every other. Return
        the cluster. `proxied` is ignored: no fault of this target needs a proxy. Raise TargetError
        for a number of nodes that it does not run, if Java or the jars are missing, or if a process
        does not become ready."""
        if nodes not in NODES_ALLOWED:
            raise TargetError(f"{self.name} runs 1 or 3 nodes, not {nodes}; choose 1 or 3")
        java = self.java()
        directory = directory.resolve()  # each node runs in a working directory of its own
        leftovers.remove()
        layout, links = laid_out(self.name, directory, nodes, proxied=False)
        with undone_on_failure(self.name, layout, links):
            address = LOOPBACK, free_ports(1)[0]
            asked = {"zookeeper.connect": joined(address), **(config or {})}
            members, added = self.nodes_of(java, directory, layout, layout.numbers(), asked)
            server = self._server(java, directory, address)
        brokers = [
            _Broker(m.number, m.command, m.direct, m.directory, data=m.data) for m in members
        ]
        for broker in brokers:
            broker.zookeeper = address
        named = self.name, self.version
        cluster = ZooKeeperCluster(named, brokers, server, layout, added)
        cluster.start()
        return cluster

    def settings_of(self, layout: Layout, number: int, data: Path) -> dict[str, str]:
        """Return the default settings of a broker without those of a quorum."""
        settings = apache_properties(layout, number, data) | SESSION
        for key in OF_QUORUM:
            del settings[key]
        bound = (f"{name}://{joined(layout.bound(name, number))}" for name in LISTENERS)
        told = (f"{name}://{joined(layout.advertised(name, number))}" for name in LISTENERS)
        settings["listeners"], settings["advertised.listeners"] = ",".join(bound), ",".join(told)
        return settings

    def _server(self, java: Sequence[str], directory: Path, address: Address) -> LocalNode:
        home, data = directory / "nodes" / MODE, directory / "data" / MODE
        home.mkdir(parents=True, exist_ok=True)
        file = home / "zoo.cfg"
        file.write_text(SERVER.format(data=data, host=address[0], port=address[1]))
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        command = [*self.launcher(java, directory), *HEAP, main, str(file)]
        return LocalNode(0, command, address, home, data=data)


@dataclass
class _Broker(LocalNode):
    """A broker that starts only after ZooKeeper has forgotten its previous process: it ends at once
    if its id is still registered by another session (KafkaZkClient.registerBroker)."""

    zookeeper: Address = (LOOPBACK, 0)

    def start(self) -> None:
        """Start the process, unless it is running. Raise TargetError if it cannot be started, or if
        its previous registration does not expire."""
        if self.child is not None and not self.running:
            self.child.kill()  # a process that still ends would keep its session
            _await(
                self._is_forgotten,
                EXPIRY_TIMEOUT_S,
                f"ZooKeeper still has the registration of broker {self.number}",
            )
        super().start()

    def _is_forgotten(self) -> bool:
        sessions = asked(self.zookeeper, "dump")
        return bool(sessions) and f"/brokers/ids/{self.number}\n" not in sessions


class ZooKeeperCluster(LocalCluster):
    """Brokers with their ZooKeeper server. Their Metadata names the controller, so no other way to
    find it is needed."""

    def __init__(
        self,
        named: tuple[str, str],
        members: Sequence[LocalNode],
        server: LocalNode,
        layout: Layout,
        added: Iterable[Mapping[str, str]],
    ) -> None:
        """Create a cluster that has not started. named: the names of the target and its version.
        added: the additional listeners of each node, name -> host:port."""
        advertised = (layout.advertised("CLIENT", number) for number in layout.numbers())
        bootstrap = ",".join(map(joined, advertised))
        super().__init__(*named, bootstrap, members, performers_of(FAULTS))
        self.listeners = by_name(added)
        self.server = server
        self._layout = layout

    def start(self) -> None:
        try:
            self.server.start()
            _await(
                self._serves, READY_TIMEOUT_S, f"ZooKeeper does not answer; see {self.server.log}"
            )
        except BaseException:  # including KeyboardInterrupt
            self.stop()
            raise
        super().start()

    def _serves(self) -> bool:
        if not self.server.running:
            last = self.server.child.last_words() if self.server.child else ""
            raise TargetError(f"{self.target}: ZooKeeper ended; its last words: {last}")
        return asked(self.server.direct, "ruok") == "imok"

    def processes(self) -> Sequence[LocalNode]:
        return [self.server, *self.members()]

    def collect(self, into: Path) -> None:
        super().collect(into)
        destination = into / MODE
        if destination.resolve() != self.server.directory.resolve():
            shutil.copytree(self.server.directory, destination, dirs_exist_ok=True)

    def stop(self) -> None:
        try:
            super().stop()
        finally:
            self.server.stop()
            self._layout.release()


def asked(address: Address, word: str) -> str:
    """Return ZooKeeper's answer to a command of four letters, or "" if it does not answer."""
    try:
        with socket.create_connection(address, ASK_TIMEOUT_S) as connection:
            connection.sendall(word.encode())
            with connection.makefile(encoding="utf-8", errors="replace") as answer:
                return answer.read()
    except OSError:
        return ""


def _await(condition: Callable[[], bool], timeout_s: float, why: str) -> None:
    """Wait until the condition holds. Raise TargetError with this reason after the time-out."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TargetError(f"{why} after {timeout_s:.0f} s; try again on a less busy machine")
        time.sleep(POLL_S)


def of_version(asked_for: str, bug: str | None) -> ApacheKafka:
    """Return the target for a version of Apache Kafka: "3.9-zookeeper" is 3.9.1 in ZooKeeper mode;
    of any other version as `apache.of_version` says. Raise TargetError for an unknown version, and
    for any bug, since Apache Kafka has none."""
    if asked_for in VERSIONS and not bug:
        return ApacheOnZooKeeper()
    return apache.of_version(asked_for, bug)
