"""Any Kafka-compatible cluster, described by a TOML file (foreign_file.py): `--target FILE.toml`,
`--cluster FILE`, or a touchstone.toml in the working folder or above it.

The available faults follow from what the file gives for every node: an address alone can be
administered; a start command beside kill, stop or a pid file can be killed and restarted; a pid
file, or pause and resume, can be paused; a service of Compose can do all of that; and further
commands do what foreign_faults.py says.
"""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from chaos.means import leftovers
from chaos.means.links import Address, joined
from chaos.targets.clusters import probe, roles
from chaos.targets.clusters.cluster import ALIVE_TIMEOUT_S, LocalCluster
from chaos.targets.clusters.probe import NoAnswer
from chaos.targets.foreign.commands import run
from chaos.targets.foreign.foreign_faults import PERFORMERS, Undoings, faults_by_commands
from chaos.targets.foreign.foreign_file import Foreign, ForeignNode, read
from chaos.targets.foreign.foreign_node import LOOK_TIMEOUT_S, ForeignMember, ForeignProcess
from chaos.values.faults import ADMIN_FAULTS, Fault, Heal, Kill, Pause, Shutdown
from chaos.values.protocols import Cluster, Performed, TargetError
from reference_impl.access import Access, AccessError, Bootstrap, Endpoint, LoginRefused

SUFFIX = ".toml"
USUAL_FILE = "touchstone.toml"
ANSWER_TIMEOUT_S = 30.0
"""For a node that accepts connections, to answer."""


def faults_of(foreign: Foreign) -> frozenset[type[Fault]]:
    """Return the faults that can be performed on every one of its nodes."""
    if not foreign.nodes:
        return frozenset({Heal, *ADMIN_FAULTS})
    return frozenset.intersection(*map(_faults_of_node, foreign.nodes))


def _faults_of_node(node: ForeignNode) -> frozenset[type[Fault]]:
    faults: set[type[Fault]] = {Heal, *ADMIN_FAULTS, *faults_by_commands(node)}
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
    undoings: Undoings
    ids: Mapping[int, int] = {}
    """Node -> broker id, once Metadata has told."""

    def member(self, node: int) -> ForeignMember:
        return cast(ForeignMember, self._members[node])

    def broker_id(self, number: int) -> int:
        return self.ids.get(number, super().broker_id(number))

    def learn_ids(self, nodes: Sequence[ForeignNode], lowest: int | None) -> None:
        """Ask which broker each node is. Where Metadata does not tell, the nodes count from the
        lowest id, if the file has it. Raise TargetError otherwise."""
        told = probe.brokers(self.direct(1), ALIVE_TIMEOUT_S)
        by_place = {_place(address): broker for broker, address in told.items()}
        found = {}
        for number, node in enumerate(nodes, 1):
            broker = node.broker_id
            if broker is None:
                broker = by_place.get(_place(node.address))
            if broker is None and lowest is not None:
                broker = lowest + number - 1
            if broker is None:
                names = ", ".join(f"{n} at {joined(each)}" for n, each in sorted(told.items()))
                raise TargetError(
                    f"{self.target}: node {number} is at {joined(node.address)}, but the cluster"
                    f" names its brokers {names}; write the broker's id = … into its [[node]]"
                )
            found[number] = broker
        self.ids = found

    def controller(self) -> int | None:
        """Return the leader of the metadata quorum, which any broker knows (KIP-595); without KRaft
        the controller that Metadata names."""
        for node in self.reachable():
            with suppress(NoAnswer):
                led = probe.quorum_leader(self.direct(node), roles.ASK_TIMEOUT_S)
                return super().controller() if led is None else self.number_of(led[1]) or None
        return super().controller()

    def _not_ready(self) -> str:
        """Return what is still missing, or the empty string."""
        for number in self._members:
            try:
                known = probe.brokers(self.direct(number), ALIVE_TIMEOUT_S)
            except NoAnswer as error:
                return f"node {number} does not answer ({error})"
            if len(known) < self.nodes or not set(self.ids.values()) <= known.keys():
                return f"node {number} knows only the brokers {sorted(known)}"
        return ""

    def _check_able(self, fault: Fault) -> None:
        if type(fault) not in self.faults:
            able = ", ".join(sorted(kind.__name__ for kind in self.faults))
            raise TargetError(f"target {self.target!r} cannot {fault.name}; it can: {able}")

    def _strike(self, fault: Any) -> Sequence[int]:
        performer = PERFORMERS.get(type(fault))
        return super()._strike(fault) if performer is None else performer(self, fault)

    def _heal(self, fault: Heal) -> Performed:
        try:
            helped = self.undoings.undo()
        finally:  # nodes come back whatever became of the rest
            performed = super()._heal(fault)
        return Performed(fault, tuple(sorted({*helped, *performed.nodes})), performed.note)

    def collect(self, into: Path) -> None:
        """Collect what its commands printed, and the logs that were named."""
        super().collect(into)
        for number, log in self.kept_logs.items():
            with suppress(OSError):  # a log that is not there is no reason to lose a run
                shutil.copy2(log, into / str(number) / log.name)

    def stop(self) -> None:
        """Leave the cluster as it was found."""
        try:
            self.undoings.undo()
        finally:
            super().stop()


class ForeignTarget:
    """`--target FILE.toml`. Raises TargetError for a file that describes no cluster."""

    def __init__(self, file: Path) -> None:
        self._foreign = read(file)
        self.name = str(file)
        """As it was typed: what reproduces a run."""
        self.faults = faults_of(self._foreign)

    @cached_property
    def access(self) -> Access:
        """Return how clients get in. Raise TargetError if a command does not tell the password."""
        try:
            return self._foreign.client.access()
        except TargetError as error:
            raise TargetError(f"{self.name}: {error}") from error

    @cached_property
    def nodes(self) -> int:
        """The number of nodes: those of the file, or else the brokers that Metadata names."""
        return len(self._foreign.nodes or self._brokers())

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
        described = foreign.nodes or self._brokers()
        self._check_answers(described)
        if foreign.reset is not None:
            run(foreign.reset, foreign.folder)
        members = [self._member(n, node, directory) for n, node in enumerate(described, 1)]
        bootstrap = Bootstrap(",".join(map(joined, foreign.seeds)), self.access)
        cluster = ForeignCluster(self.name, "unknown", bootstrap, members, self.faults)
        cluster.kept_logs = {n: node.log for n, node in enumerate(described, 1) if node.log}
        cluster.undoings = Undoings(described, foreign.folder)
        cluster.start()
        try:
            cluster.learn_ids(described, foreign.lowest_broker_id)
        except BaseException:
            cluster.stop()
            raise
        return cluster

    def _member(self, number: int, node: ForeignNode, directory: Path) -> ForeignMember:
        home = directory.resolve() / "nodes" / str(number)
        home.mkdir(parents=True, exist_ok=True)
        endpoint = Endpoint(*node.address, self.access)
        member = ForeignMember(number, node.start or (), endpoint, home)
        member.process = ForeignProcess(node, self._foreign.folder, member.log)
        return member

    def _brokers(self) -> tuple[ForeignNode, ...]:
        """Return the brokers that Metadata names. Raise TargetError if no seed answers."""
        failure = ""
        for seed in self._foreign.seeds:
            try:
                told = probe.brokers(Endpoint(*seed, self.access), ALIVE_TIMEOUT_S)
            except NoAnswer as error:
                failure = self._why_no_answer(error)
                continue
            return tuple(
                ForeignNode((at[0], at[1]), broker_id=broker) for broker, at in sorted(told.items())
            )
        raise TargetError(failure)

    def _check_answers(self, nodes: Sequence[ForeignNode]) -> None:
        """Raise TargetError for a node that takes connections but does not let us in, or does not
        answer: it is not to be started a second time."""
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        for node in nodes:
            while probe.listens(joined(node.address), LOOK_TIMEOUT_S):
                try:
                    probe.check_kafka(Endpoint(*node.address, self.access), ALIVE_TIMEOUT_S)
                    break
                except NoAnswer as error:
                    refused = isinstance(error.__cause__, LoginRefused | AccessError)
                    if refused or time.monotonic() > deadline:
                        raise TargetError(self._why_no_answer(error)) from error

    def _why_no_answer(self, error: NoAnswer) -> str:
        if isinstance(error.__cause__, LoginRefused | AccessError):
            return f"{self.name}: {error}; correct its [client] table"
        has_client = self.access.uses_tls or self.access.uses_sasl
        hint = "its [client] table fits the listener" if has_client else "it wants no TLS or SASL"
        return f"{self.name}: {error}; see that a Kafka runs there, and that {hint}"


def _place(address: Address) -> tuple[str, int]:
    """Return an address with its host resolved, so that names of one host are the same."""
    with suppress(OSError):
        return socket.gethostbyname(address[0]), address[1]
    return address[0], address[1]


def usual_file(folder: Path) -> Path | None:
    """Return the touchstone.toml in this folder or the nearest above it, or None."""
    for each in (folder, *folder.parents):
        if (each / USUAL_FILE).is_file():
            return each / USUAL_FILE
    return None
