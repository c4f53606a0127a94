"""Attack any Kafka-compatible cluster that a TOML file describes (foreign_file.py): `--target
FILE.toml`, `--cluster FILE`, or a touchstone.toml in the working directory or above it.

Which faults are available follows from what the file gives for every node. An address alone permits
administration. A start command permits kills together with kill or pid_file, and clean shutdowns
together with stop or pid_file. pid_file, or pause and resume, permit pauses. A service of Compose
permits all of these. Further commands permit the faults in foreign_faults.py.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from chaos.means import leftovers
from chaos.means.connection import WireError
from chaos.targets.clusters import probe
from chaos.targets.clusters.cluster import ALIVE_TIMEOUT_S
from chaos.targets.foreign.cluster import ForeignCluster
from chaos.targets.foreign.commands import run
from chaos.targets.foreign.foreign_faults import all_performers_of, faults_by_commands
from chaos.targets.foreign.foreign_file import Foreign, ForeignNode, read
from chaos.targets.foreign.foreign_node import (
    LOOK_TIMEOUT_S,
    ForeignMember,
    ForeignProcess,
    why_not_started,
)
from chaos.targets.foreign.undoings import Undoings
from chaos.values.fault_kinds import ADMIN_FAULTS
from chaos.values.faults import Fault, Heal, Kill, Pause, Shutdown
from chaos.values.protocols import Cluster, TargetError
from chaos.world import Address, joined
from reference_impl.access import Access, AccessError, Bootstrap, Endpoint, LoginRefused
from reference_impl.wire import Malformed

SUFFIX = ".toml"
USUAL_FILE = "touchstone.toml"
ANSWER_TIMEOUT_S = 30.0
"""The seconds that a node may take to answer once it accepts connections."""


def faults_of(foreign: Foreign) -> frozenset[type[Fault]]:
    """Return the faults that can be performed on every node: Heal and those of an administrator if
    the file describes no nodes."""
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


class ForeignTarget:
    """The target of `--target FILE.toml`. Creating it raises TargetError if the file does not
    describe a cluster."""

    def __init__(self, file: Path) -> None:
        self._foreign = read(file)
        self.name = str(file)
        """The file's name as the user typed it, so that the printed command repeats the run."""
        self.faults = faults_of(self._foreign)

    @cached_property
    def access(self) -> Access:
        """Return the Access for clients; the first call runs the commands for passwords. Raise
        TargetError if a password cannot be read, or certificates or keys cannot be used."""
        try:
            return self._foreign.client.access()
        except TargetError as error:
            raise TargetError(f"{self.name}: {error}") from error

    @property
    def bootstrap(self) -> Bootstrap:
        """The addresses to ask first, and how clients log in. Raise TargetError as `access`
        does."""
        return Bootstrap(",".join(map(joined, self._foreign.seeds)), self.access)

    @property
    def is_started_by_us(self) -> bool:
        """Return whether the file has commands that reset the cluster or start its nodes."""
        foreign = self._foreign
        return foreign.reset is not None or any(node.start for node in foreign.nodes)

    @cached_property
    def nodes(self) -> int:
        """The number of nodes: those of the file, or else the brokers in Metadata when it is first
        asked for. Raise TargetError if no bootstrap address answers then."""
        return len(self._foreign.nodes or self._brokers())

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Reset the cluster if the file has a command for that, start the nodes that do not run,
        and wait until it is ready. `nodes` and `proxied` are ignored. Raise TargetError if a
        configuration is given, a node denies access or does not become ready, or the reset
        fails."""
        if config:
            raise TargetError(
                f"{self.name} is configured by its owner; leave out {', '.join(config)}"
            )
        leftovers.remove()
        foreign = self._foreign
        described = foreign.nodes or self._brokers()
        self._check_answers(described)
        if foreign.reset is not None:
            try:
                run(foreign.reset, foreign.folder)
            except TargetError as error:
                raise TargetError(f"{self.name}: reset: {error}") from error
        members = [self._member(n, node, directory) for n, node in enumerate(described, 1)]
        performers = all_performers_of(self.faults)
        where = Bootstrap(",".join(map(joined, self._reachable_first())), self.access)
        cluster = ForeignCluster(self.name, "unknown", where, members, performers)
        cluster.kept_logs = {n: node.log for n, node in enumerate(described, 1) if node.log}
        cluster.undoings = Undoings(described, foreign.folder)
        cluster.start()
        try:
            cluster.learn_ids(described, foreign.lowest_broker_id)
        except BaseException:
            cluster.stop()
            raise
        return cluster

    def _reachable_first(self) -> list[Address]:
        """Return the addresses to ask first, those that accept connections before the others: some
        clients ask only the first one."""
        return sorted(
            self._foreign.seeds, key=lambda at: not probe.listens(joined(at), LOOK_TIMEOUT_S)
        )

    def check_there(self) -> None:
        """Raise TargetError if a node does not run and has no start command, if it runs but denies
        access or does not answer in time, or if the file names no nodes and no bootstrap address
        answers. Start no node."""
        described = self._foreign.nodes or self._brokers()
        self._check_answers(described)
        for number, node in enumerate(described, 1):
            if node.start is None and not probe.listens(joined(node.address), LOOK_TIMEOUT_S):
                raise TargetError(f"{self.name}: {why_not_started(number, node)}")

    def _member(self, number: int, node: ForeignNode, directory: Path) -> ForeignMember:
        home = directory.resolve() / "nodes" / str(number)
        home.mkdir(parents=True, exist_ok=True)
        endpoint = Endpoint(*node.address, self.access)
        member = ForeignMember(number, node.start or (), endpoint, home)
        member.process = ForeignProcess(node, self._foreign.folder, member.log)
        return member

    def _brokers(self) -> tuple[ForeignNode, ...]:
        """Return the brokers in Metadata as nodes, in the order of their ids. Raise TargetError if
        no bootstrap address answers."""
        failure = ""
        for seed in self._foreign.seeds:
            try:
                told = probe.brokers(Endpoint(*seed, self.access), ALIVE_TIMEOUT_S)
            except WireError as error:
                failure = self._why_no_answer(error)
                continue
            return tuple(
                ForeignNode((at[0], at[1]), broker_id=broker) for broker, at in sorted(told.items())
            )
        raise TargetError(failure)

    def _check_answers(self, nodes: Sequence[ForeignNode]) -> None:
        """Raise TargetError for a node that accepts connections but denies access, or does not
        answer within ANSWER_TIMEOUT_S in all: it runs already, so it must not be started. Accept a
        node that does not accept connections."""
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        for node in nodes:
            while probe.listens(joined(node.address), LOOK_TIMEOUT_S):
                try:
                    probe.check_kafka(Endpoint(*node.address, self.access), ALIVE_TIMEOUT_S)
                    break
                except WireError as error:
                    if _is_final(error) or time.monotonic() > deadline:
                        raise TargetError(self._why_no_answer(error)) from error

    def _why_no_answer(self, error: WireError) -> str:
        if isinstance(error.__cause__, LoginRefused | AccessError):
            return f"{self.name}: {error}; correct its [client] table"
        if isinstance(error.__cause__, ConnectionRefusedError):
            return f"{self.name}: {error}; start a broker there, or correct the address"
        has_client = self.access.uses_tls or self.access.uses_sasl
        hint = "its [client] table fits the listener" if has_client else "it wants no TLS or SASL"
        return f"{self.name}: {error}; see that a Kafka runs there, and that {hint}"


def _is_final(error: BaseException) -> bool:
    """Return whether an attempt to reach a node has shown that further ones must fail, too: access
    is denied, or another protocol is spoken there."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, LoginRefused | AccessError | Malformed):
        cause = cause.__cause__
    return cause is not None


def usual_file(folder: Path) -> Path | None:
    """Return the touchstone.toml in this folder, else in the nearest parent that has one, or
    None."""
    for each in (folder, *folder.parents):
        if (each / USUAL_FILE).is_file():
            return each / USUAL_FILE
    return None
