"""A cluster of child processes on this machine; faults are performed by signals and toxiproxy.

Every target that starts processes uses this. Targets differ in their command lines, and in how they
find the controller.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from chaos.means.connection import WireError
from chaos.means.disks import DiskError
from chaos.means.links import LinkError, Links
from chaos.targets.clusters import equipment, probe, roles
from chaos.targets.clusters.node import LocalNode
from chaos.values.fault_kinds import ADMIN_FAULTS, DISK_FAULTS, LINK_FAULTS, SHIM_FAULTS
from chaos.values.faults import Fault, Heal, Node
from chaos.values.protocols import Performed, TargetError
from chaos.world import Address

READY_TIMEOUT_S = 180.0
POLL_S = 0.1
ALIVE_TIMEOUT_S = 5.0
DEAF_TIMEOUT_S = 60.0


Performer = Callable[[Any, Any], Sequence[int]]
"""A function that performs a fault on a cluster, and returns the nodes that it affected. The
cluster may be of a subclass."""
Performers = Mapping[type[Fault], Performer]
"""Fault type -> its performer, for the faults that a cluster can perform."""


class LocalCluster:
    """The processes of a cluster and the links between them. It performs one fault at a time."""

    lowest_broker_id = 1
    topic_prefix = ""
    """The prefix of the names of topics that faults create, so that they do not collide with topics
    of other users."""

    def __init__(
        self,
        target: str,
        version: str,
        bootstrap: str,
        members: Sequence[LocalNode],
        performers: Performers,
        links: Links | None = None,
    ) -> None:
        self.target = target
        self.version = version
        self.bootstrap = bootstrap
        self.listeners: Mapping[str, str] = {}
        self.nodes = len(members)
        self.faults: frozenset[type[Fault]] = frozenset({Heal, *performers})
        self.focus: tuple[str, int] | None = None
        self.rng = Random(0)
        self.turns: Iterator[int] = count()
        self.links = links
        self._performers = performers
        self._members = {member.number: member for member in members}
        self._lock = threading.RLock()
        self._stopped = False

    # --- life -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start every node and wait until the cluster is ready. If that fails, stop everything and
        raise the error, TargetError for a node that does not start or does not become ready."""
        try:
            for member in self._members.values():
                member.start()
            self.wait_ready()
            equipment.sync(self.members())
        except BaseException:  # including KeyboardInterrupt
            self.stop()
            raise

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Wait until every node answers and knows all others, and every additional listener accepts
        connections. Raise TargetError if that takes too long, or if a node ends."""
        deadline = time.monotonic() + timeout_s
        waiting_for = ""
        while time.monotonic() < deadline:
            self._check_running()
            waiting_for = self._not_ready()
            if not waiting_for:
                return
            time.sleep(POLL_S)
        raise TargetError(
            f"{self.target} is not ready after {timeout_s:.0f} s: {waiting_for}; see `touchstone"
            f" doctor`, and the last words of {self._last_words()}"
        )

    def _check_running(self) -> None:
        for member in self._members.values():
            if not member.running and not self._stopped:
                status = member.child.exit_status if member.child else None
                last = member.child.last_words() if member.child else ""
                raise TargetError(
                    f"{self.target}: node {member.number} ended with status {status};"
                    f" its last words: {last}; correct the cause, and start it again"
                )

    def _not_ready(self) -> str:
        """Return a sentence about the first node or listener that is not ready, or ""."""
        everybody = {self.broker_id(number) for number in self._members}
        for number in self._members:
            try:
                probe.check_kafka(self.direct(number), ALIVE_TIMEOUT_S)
                known = set(probe.brokers(self.direct(number), ALIVE_TIMEOUT_S))
            except WireError as error:
                return f"node {number} does not answer ({error})"
            if not everybody <= known:
                return f"node {number} knows only the nodes {sorted(known)}"
        for name, bootstrap in self.listeners.items():
            if not all(probe.listens(where, ALIVE_TIMEOUT_S) for where in bootstrap.split(",")):
                return f"nobody listens at {bootstrap} ({name})"
        return ""

    def _last_words(self) -> str:
        return "; ".join(
            f"node {number}: {member.child.last_words() or 'it said nothing'}"
            for number, member in self._members.items()
            if member.child
        )

    def alive(self) -> bool:
        """Return whether every node runs, is not paused, and answers ApiVersions."""
        return all(
            member.running and not member.paused and probe.answers(member.direct, ALIVE_TIMEOUT_S)
            for member in self._members.values()
        )

    def restart(self) -> None:
        """End all faults, restart each node that has ended or does not answer any more, and wait
        until the cluster is ready. Raise TargetError if a fault cannot be ended, or if the cluster
        does not become ready."""
        self.perform(Heal())
        with suppress(TargetError):
            self.wait_ready(DEAF_TIMEOUT_S)
            return
        for member in self._members.values():
            if not probe.answers(member.direct, ALIVE_TIMEOUT_S) and member.child is not None:
                member.child.kill()
                member.start()
        self.wait_ready()

    def collect(self, into: Path) -> None:
        """Copy the nodes' logs and configurations to into/<node>/, unless they lie there anyway."""
        for number, member in self._members.items():
            destination = into / str(number)
            if destination.resolve() == member.directory.resolve():
                continue
            destination.mkdir(parents=True, exist_ok=True)
            for file in sorted(member.directory.iterdir()):
                if file.is_file():
                    shutil.copy2(file, destination / file.name)

    def stop(self) -> None:
        """End every process, remove the disks, and stop the links; every later fault does nothing.
        After an error, continue with the rest, then raise it."""
        members = self.members()
        with self._lock, ExitStack() as last_first:
            self._stopped = True
            if self.links is not None:
                last_first.callback(self.links.stop)
            last_first.callback(equipment.close_shims, members)
            last_first.callback(equipment.remove_disks, members)
            for member in reversed(members):
                last_first.callback(member.stop)
            equipment.heal_disks(members)

    def members(self) -> Sequence[LocalNode]:
        """Return the nodes, in the order of their numbers."""
        return list(self._members.values())

    def processes(self) -> Sequence[LocalNode]:
        """Return all nodes and whatever else was started for them, except proxies."""
        return self.members()

    # --- what roles.resolve asks ------------------------------------------------------------------

    def reachable(self) -> Sequence[int]:
        return [n for n, member in self._members.items() if member.running and not member.paused]

    def direct(self, node: int) -> Address:
        return self._members[node].direct

    def broker_id(self, number: int) -> int:
        """Return the broker id of a node."""
        return number - 1 + self.lowest_broker_id

    def number_of(self, broker_id: int) -> int:
        """Return the number of the node with this broker id, or 0 if there is none."""
        return next((n for n in self._members if self.broker_id(n) == broker_id), 0)

    def controller(self) -> int | None:
        """Return the controller's node number according to Metadata, or None. Clusters whose
        Metadata does not name it override this."""
        for node in self.reachable():
            with suppress(WireError):
                found = probe.controller(self.direct(node), roles.ASK_TIMEOUT_S)
                return self.number_of(found) or None
        return None

    # --- faults -----------------------------------------------------------------------------------

    def perform(self, fault: Fault) -> Performed:
        """Perform a fault. Return the nodes that it affected, or the reason why there are none.
        Raise TargetError if this cluster cannot perform it, or if it fails."""
        self._check_able(fault)
        with self._lock:
            if self._stopped:
                return Performed(fault, (), "the cluster is stopped")
            try:
                if isinstance(fault, Heal):
                    return self._heal(fault)
                struck = self._performers[type(fault)](self, fault)
                if self.links is not None:
                    self.links.settle()
            except (LinkError, DiskError, WireError, OSError) as error:
                message = f"target {self.target!r}: {fault.name} failed: {error}"
                raise TargetError(message) from error
            return Performed(fault, tuple(struck), "" if struck else _why_nobody(fault))

    def _check_able(self, fault: Fault) -> None:
        if type(fault) not in self.faults:
            able = ", ".join(sorted(kind.__name__ for kind in self.faults)) or "nothing"
            raise TargetError(f"target {self.target!r} cannot {fault.name}; it can: {able}")
        if type(fault) in LINK_FAULTS and self.links is None:
            raise TargetError(
                f"target {self.target!r} was started without proxies, so it cannot {fault.name};"
                " start it proxied"
            )
        kind = type(fault)
        without = [member for member in self.members() if not equipment.has_means(member, kind)]
        if kind in DISK_FAULTS and without:
            raise TargetError(
                f"target {self.target!r} was started without disks of its own, so it cannot"
                f" {fault.name}; start it with_disks()"
            )
        if kind in SHIM_FAULTS and without:
            raise TargetError(
                f"target {self.target!r} was started without the shim, so it cannot"
                f" {fault.name}; start it with_shim()"
            )

    def members_of(self, node: Node) -> Sequence[LocalNode]:
        """Return the nodes that a number or a role refers to now, or [] if no node has the role.
        Raise TargetError for a number or name that is not a node of this cluster."""
        return [self._members[number] for number in self.resolve(node)]

    def resolve(self, node: Node) -> tuple[int, ...]:
        """Return the numbers of the nodes that a number or a role refers to now, or () if no node
        has the role. Raise TargetError for a number or name that is not a node of this cluster."""
        return roles.resolve(node, self)

    def open_links(self) -> Links:
        """Return the links of the cluster; `perform` has checked that there are links."""
        assert self.links is not None
        return self.links

    def _heal(self, fault: Heal) -> Performed:
        """Undo the faults, and return the nodes that were continued or started. They may not be
        ready yet; `wait_ready` waits for that."""
        equipment.heal_disks(self.members())
        equipment.heal_shims(self.members())
        try:
            note = self.links.heal() if self.links is not None else ""
        finally:  # a node that stays dead would hide what happened to its records
            helped = self._bring_back()
        return Performed(fault, tuple(helped), note)

    def _bring_back(self) -> list[int]:
        """Continue paused nodes and start dead ones. Return their numbers. If one fails, try the
        others, and raise TargetError at the end."""
        helped, failure = [], None
        for number, member in self._members.items():
            try:
                if member.paused and member.child is not None:
                    member.child.resume()
                    helped.append(number)
                elif not member.running:
                    member.start()
                    helped.append(number)
            except TargetError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return helped


def _why_nobody(fault: Fault) -> str:
    if type(fault) in ADMIN_FAULTS:
        return "the cluster refused it, or saw no need for it"
    if type(fault) in LINK_FAULTS:
        return "no such node is known, or it has no such link"
    return "no such node runs, or it had nothing that the fault could strike"
