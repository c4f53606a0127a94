"""A running cluster that Touchstone did not create, while it is attacked."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from chaos.means.connection import WireError
from chaos.targets.clusters import probe, roles
from chaos.targets.clusters.cluster import ALIVE_TIMEOUT_S, LocalCluster
from chaos.targets.foreign.foreign_file import ForeignNode
from chaos.targets.foreign.foreign_node import ForeignMember
from chaos.targets.foreign.undoings import Undoings
from chaos.values.faults import Fault, Heal
from chaos.values.protocols import Performed, TargetError
from chaos.world import Address, joined


class ForeignCluster(LocalCluster):
    """A cluster that must be left as it was found: nodes that ran before the attack also run after
    it (ForeignMember)."""

    kept_logs: Mapping[int, Path]
    undoings: Undoings
    ids: Mapping[int, int] = {}
    """Node number -> broker id, empty until `learn_ids` finds them."""

    def member(self, node: int) -> ForeignMember:
        return cast(ForeignMember, self._members[node])

    def broker_id(self, number: int) -> int:
        return self.ids.get(number, super().broker_id(number))

    def learn_ids(self, nodes: Sequence[ForeignNode], lowest: int | None) -> None:
        """Set `ids` to the broker id of each node: the one in the file, else the one that Metadata
        has for the node's address, else, if `lowest` is given, a number counted up from it. Raise
        TargetError if an id cannot be determined, or if node 1 does not answer."""
        try:
            told = probe.brokers(self.direct(1), ALIVE_TIMEOUT_S)
        except WireError as error:
            raise TargetError(
                f"{self.target}: node 1 no longer answers ({error}); see its log"
            ) from error
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
        """Return the node number of the metadata quorum's leader, which any broker knows (KIP-595);
        without KRaft, that of the controller in Metadata. Return None if nobody knows one."""
        for node in self.reachable():
            with suppress(WireError):
                led = probe.quorum_leader(self.direct(node), roles.ASK_TIMEOUT_S)
                return super().controller() if led is None else self.number_of(led[1]) or None
        return super().controller()

    def _not_ready(self) -> str:
        """Return a sentence about the first node that is not ready, or ""."""
        for number in self._members:
            try:
                known = probe.brokers(self.direct(number), ALIVE_TIMEOUT_S)
            except WireError as error:
                return f"node {number} does not answer ({error})"
            if len(known) < self.nodes or not set(self.ids.values()) <= known.keys():
                return f"node {number} knows only the brokers {sorted(known)}"
        return ""

    def _check_able(self, fault: Fault) -> None:
        if type(fault) not in self.faults:
            able = ", ".join(sorted(kind.__name__ for kind in self.faults))
            raise TargetError(f"target {self.target!r} cannot {fault.name}; it can: {able}")

    def _heal(self, fault: Heal) -> Performed:
        try:
            helped = self.undoings.undo()
        finally:  # bring nodes back even if this failed
            performed = super()._heal(fault)
        return Performed(fault, tuple(sorted({*helped, *performed.nodes})), performed.note)

    def collect(self, into: Path) -> None:
        """Copy the output of the owner's start commands, and the logs that the file names, to
        into/<node>/. Skip a log that cannot be copied."""
        super().collect(into)
        for number, log in self.kept_logs.items():
            with suppress(OSError):  # a missing log must not fail the run
                shutil.copy2(log, into / str(number) / log.name)

    def stop(self) -> None:
        """End the active faults and leave the cluster as it was before the attack: stop only nodes
        that did not run then, start or resume the others. Raise TargetError if that fails."""
        try:
            self.undoings.undo()
        finally:
            super().stop()


def _place(address: Address) -> tuple[str, int]:
    """Return an address with its host resolved to an IP address, so that different names of one
    host are equal. Return it as it is if the host cannot be resolved."""
    with suppress(OSError):
        return socket.gethostbyname(address[0]), address[1]
    return address[0], address[1]
