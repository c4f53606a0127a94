"""Start Apache Kafka from its own jars: one or three KRaft nodes, each both broker and
controller."""

from __future__ import annotations

import base64
import shutil
import subprocess
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from chaos.means import leftovers
from chaos.means.caches import cache_directory
from chaos.means.disks import Disk
from chaos.means.java import find_java
from chaos.means.links import Links
from chaos.targets.clusters.equipment import Equippable, disks_for, preload
from chaos.targets.clusters.kraft import KraftCluster, laid_out, undone_on_failure
from chaos.targets.clusters.layout import Layout
from chaos.targets.clusters.listeners import with_listeners
from chaos.targets.clusters.node import LocalNode
from chaos.targets.clusters.properties import apache_properties
from chaos.values.fault_kinds import (
    ADMIN_FAULTS,
    DISK_FAULTS,
    LINK_FAULTS,
    PROCESS_FAULTS,
    SHIM_FAULTS,
)
from chaos.values.faults import BitFlip, Fault, Heal
from chaos.values.protocols import Cluster, TargetError
from reference_impl.host.settings.properties import read as read_properties
from reference_impl.host.settings.properties import write_private

DEFAULT_VERSION = "4.3.1"
VERSIONS = {"4.3": "4.3.1", "4.3.1": "4.3.1", "3.9": "3.9.1", "3.9.1": "3.9.1"}
"""Accepted version -> the pinned release."""

NODES_ALLOWED = (1, 3)
FORMAT_TIMEOUT_S = 120
FAULTS: frozenset[type[Fault]] = (
    PROCESS_FAULTS | LINK_FAULTS | DISK_FAULTS | SHIM_FAULTS | ADMIN_FAULTS | {BitFlip, Heal}
)
JVM_OPTIONS = (
    "-Xms256m",  # three nodes stay below 1 GiB together
    "-Xmx256m",
    "-XX:+UseSerialGC",  # the least memory and threads; a broker of 256 MiB needs no more
    "-Djava.net.preferIPv4Stack=true",
    "-Djava.awt.headless=true",
    "-Dsun.net.inetaddr.ttl=0",  # a restarted peer is found at once
)
QUICK_OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseTransparentHugePages",  # the kernel frees a killed node's heap first, then its ports
)
"""Options of the JVM, with which a node starts in half the CPU time and ends in a third of the
time."""

FORMAT_OPTIONS = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
LOG4J2 = """\
rootLogger.level=INFO
rootLogger.appenderRefs=out
rootLogger.appenderRef.out.ref=OUT
appender.out.type=Console
appender.out.name=OUT
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{ISO8601} %p [%t] %c{1} %m%n
"""
LOG4J1 = """\
log4j.rootLogger=INFO, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%d{ISO8601} %p [%t] %c{1} %m%n
"""


class ApacheKafka(Equippable):
    """One version of Apache Kafka as a target."""

    def __init__(self, version: str = DEFAULT_VERSION, full_speed: bool = False) -> None:
        """Create the target. full_speed: use the JVM's optimizing compiler, for benchmarks. The
        default, a JVM with less compilation, starts a node in half the CPU time, which matters
        where brokers are killed often."""
        self.version = version
        self.full_speed = full_speed
        self.name = f"apache:{version}"
        self.faults = FAULTS

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Format the nodes, start them, and wait until every broker knows every other. Return the
        cluster. Raise TargetError for a number of nodes that it does not run, if Java, the jars or
        another means (toxiproxy, disks, shim) are missing, or if a node cannot be formatted or does
        not become ready."""
        if nodes not in NODES_ALLOWED:
            raise TargetError(f"{self.name} runs 1 or 3 nodes, not {nodes}; choose 1 or 3")
        java = self.java()
        directory = directory.resolve()  # each node runs in a working directory of its own
        leftovers.remove()
        with disks_for(directory, nodes, self.on_disks) as disks:
            return self._start(java, directory, nodes, config or {}, proxied, disks)

    def _start(
        self,
        java: Sequence[str],
        directory: Path,
        nodes: int,
        config: Mapping[str, str],
        proxied: bool,
        disks: Mapping[int, Disk],
    ) -> Cluster:
        layout, links = self.network(directory, nodes, proxied)
        with undone_on_failure(self.name, layout, links):
            members, added = self.nodes_of(java, directory, layout, layout.numbers(), config)
            format_nodes(members, java, existing_cluster(directory) or kafka_uuid())
            self.settle_in(members, layout)
            for member in members:
                member.disk = disks.get(member.number)
            if self.preloaded:
                preload(members, directory)
        named = self.name, self.version
        cluster = KraftCluster(named, members, self.faults, (layout, links), added)
        cluster.start()
        return cluster

    def nodes_of(
        self,
        java: Sequence[str],
        directory: Path,
        layout: Layout,
        numbers: Iterable[int],
        config: Mapping[str, str],
    ) -> tuple[list[LocalNode], list[dict[str, str]]]:
        """Write the configuration, hosts file and command line of these nodes. Return the nodes,
        not formatted, and name -> address of the additional listeners of each. Raise TargetError
        for `listeners` in `config` that are not NAME://host:port[,…]."""
        launcher = self.launcher(java, directory)
        (directory / "nodes").mkdir(parents=True, exist_ok=True)
        (directory / "nodes" / "log4j2.properties").write_text(LOG4J2)
        (directory / "nodes" / "log4j.properties").write_text(LOG4J1)
        members, added = [], []
        for number in numbers:
            home, data = directory / "nodes" / str(number), directory / "data" / str(number)
            home.mkdir(parents=True, exist_ok=True)
            settings, listeners = with_listeners(self.settings_of(layout, number, data), config)
            added.append(listeners)
            properties = home / "server.properties"
            write_private(properties, settings)
            command = list(launcher)
            if layout.network is not None:
                hosts = home / "hosts"
                hosts.write_text(layout.hosts_file(number))
                command.insert(1, f"-Djdk.net.hosts.file={hosts}")
            command += ["kafka.Kafka", str(properties)]
            direct = layout.bound("CLIENT", number)
            members.append(LocalNode(number, command, direct, home, data=data))
        return members, added

    def settings_of(self, layout: Layout, number: int, data: Path) -> dict[str, str]:
        """Return the default settings of a node, to which the user's are added."""
        return apache_properties(layout, number, data)

    def network(self, directory: Path, nodes: int, proxied: bool) -> tuple[Layout, Links | None]:
        """Claim the addresses of a new cluster, and start toxiproxy if `proxied`. Return
        (addresses, links); links is None if they cannot be cut. Raise TargetError if that fails."""
        return laid_out(self.name, directory, nodes, proxied)

    def settle_in(self, members: Sequence[LocalNode], layout: Layout) -> None:
        """Prepare the nodes for their network; on loopback there is nothing to do."""

    def jars(self) -> list[Path]:
        """Return the jars of the class path. Raise TargetError, which names the command that
        installs them, if they are not installed."""
        found = sorted((cache_directory() / "kafka" / self.version).glob("*.jar"))
        if not any(jar.name == f"kafka-clients-{self.version}.jar" for jar in found):
            raise TargetError(
                f"the jars of Apache Kafka {self.version} are not here; run `make setup`"
                " (it needs Maven) and see `touchstone doctor`"
            )
        return found

    def java(self) -> list[str]:
        """Return the command words for Java with the class path. Raise TargetError if either is
        missing."""
        return [str(find_java()), "-cp", ":".join(map(str, self.jars()))]

    def launcher(self, java: Sequence[str], directory: Path) -> list[str]:
        """Return the command words for Java with the options of a node's JVM."""
        quick = () if self.full_speed else QUICK_OPTIONS
        return [
            *java,
            *JVM_OPTIONS,
            *quick,
            f"-Dlog4j2.configurationFile={directory / 'nodes' / 'log4j2.properties'}",
            f"-Dlog4j.configuration=file:{directory / 'nodes' / 'log4j.properties'}",
        ]


def existing_cluster(directory: Path) -> str | None:
    """Return the id of the cluster whose data an earlier start left in the directory, or None."""
    file = directory / "data" / "1" / "meta.properties"
    return read_properties(file)["cluster.id"] if file.exists() else None


def format_nodes(
    members: Sequence[LocalNode], java: Sequence[str], cluster_id: str, *options: str
) -> None:
    """Format the first node with Kafka's StorageTool, and copy the result for the other nodes. Do
    nothing if the first node is formatted already. Raise TargetError if the tool fails or does not
    end in time.

    The tool writes meta.properties (node and directory ids) and bootstrap.checkpoint (the feature
    levels, which are the same for all): so one JVM start suffices instead of three.
    """
    first = data_of(members[0])
    if (first / "meta.properties").exists():
        return  # a second start on the same data
    properties = members[0].directory / "server.properties"
    tool = [*java, *FORMAT_OPTIONS, "kafka.tools.StorageTool"]
    try:
        done = subprocess.run(
            [*tool, "format", "-t", cluster_id, "-c", str(properties), *options],
            capture_output=True,
            text=True,
            timeout=FORMAT_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TargetError(
            f"Kafka's StorageTool did not end within {FORMAT_TIMEOUT_S} s; try again when this"
            " machine is less busy"
        ) from error
    if done.returncode != 0:
        # A usage error is one line; a bad setting is an exception, followed by its stack trace.
        said = [line for line in (done.stderr or done.stdout).splitlines() if line[:1] not in "\t"]
        why = said[-1].rpartition("Exception: ")[2] if said else f"status {done.returncode}"
        raise TargetError(f"Kafka refuses the configuration: {why}; correct that setting")
    for member in members[1:]:
        data = data_of(member)
        data.mkdir(parents=True, exist_ok=True)  # it may be a link to a disk
        shutil.copy2(first / "bootstrap.checkpoint", data)
        lines = (
            "version=1",
            f"cluster.id={cluster_id}",
            f"node.id={member.number}",
            f"directory.id={kafka_uuid()}",
        )
        (data / "meta.properties").write_text("\n".join(lines) + "\n")


def data_of(member: LocalNode) -> Path:
    """Return the data directory of a node of this machine."""
    assert member.data is not None
    return member.data


def kafka_uuid() -> str:
    """Return a random UUID in the form of org.apache.kafka.common.Uuid.randomUuid: base 64, never
    with a leading dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def of_version(asked: str, bug: str | None) -> ApacheKafka:
    """Return the target for a version: "" and "4.3.1" mean 4.3.1, "3.9" means the pinned 3.9.1.
    Raise TargetError for an unknown version, and for any bug, since Apache Kafka has none."""
    if bug:
        raise TargetError(
            f"Apache Kafka has no planted bugs, so no {bug!r}; only the reference has: use"
            " `reference`"
        )
    version = VERSIONS.get(asked or DEFAULT_VERSION)
    if version is None:
        known = ", ".join(f"apache:{version}" for version in VERSIONS)
        raise TargetError(
            f"no Apache Kafka {asked!r} is pinned here; use one of {known}, apache:3.9-zookeeper"
        )
    return ApacheKafka(version)
