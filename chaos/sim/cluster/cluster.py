"""A simulated cluster: its nodes, and the faults on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from chaos.sim.cluster import roles
from chaos.sim.cluster.layout import Layout
from chaos.sim.cluster.node import SimNode
from chaos.sim.disks.file_system import NO_SPACE
from chaos.sim.disks.medium import Medium
from chaos.sim.world import VirtualWorld
from chaos.values.faults import FailedSync, FailedWrite, Fault, Heal, Node
from chaos.values.protocols import Performed, TargetError


class SimCluster:
    """Simulated nodes, and the faults on them and on their links."""

    def __init__(
        self,
        world: VirtualWorld,
        layout: Layout,
        members: Mapping[int, SimNode],
        performers: Mapping[type[Fault], Perform],
    ) -> None:
        """Take the nodes, which the caller starts. performers: type of fault -> the function that
        performs it and returns the nodes that it has affected."""
        self.target = "sim"
        self.note: Callable[[str], None] = lambda sentence: None
        """A function that is called with a sentence about each fault."""
        self.version = "the reference broker in virtual time"
        self.bootstrap = layout.bootstrap
        self.listeners: Mapping[str, str] = {}
        self.layout = layout
        self.nodes = layout.nodes
        self.members = members
        self.focus: tuple[str, int] | None = None
        self.rng = Random(0)
        self.turns: Iterator[int] = count()
        self.network = world.network
        self.chance = world.stream("faults")
        self._performers = performers
        self._now_ns = world.monotonic_ns
        self._struck: list[tuple[int, Performed]] = []

    def resolve(self, node: Node) -> tuple[int, ...]:
        """Return the numbers of the nodes that a number or a role refers to now, () if no node has
        the role. Raise TargetError for one that is not a node of this cluster."""
        return roles.resolve(node, self)

    def running(self, node: Node) -> list[SimNode]:
        """Return the nodes that a number or a role refers to now, without those that do not run."""
        found = [self.members[number] for number in self.resolve(node)]
        return [member for member in found if member.is_running]

    def perform(self, fault: Fault) -> Performed:
        """Perform a fault. Return the nodes that it affected, or the reason why there are none.
        Raise TargetError if this target cannot perform it."""
        performed = self._heal(fault) if isinstance(fault, Heal) else self._strike(fault)
        struck = ", ".join(f"node {number}" for number in performed.nodes) or "no node"
        given = ", ".join(f"{name}={value}" for name, value in vars(fault).items())
        self.note(f"{fault.name}({given}) strikes {struck}")
        return performed

    def _strike(self, fault: Fault) -> Performed:
        performer = self._performers.get(type(fault))
        if performer is None:
            able = ", ".join(sorted([Heal.__name__, *(one.__name__ for one in self._performers)]))
            raise TargetError(f"target {self.target!r} cannot {fault.name}; it can: {able}")
        struck = tuple(performer(self, fault))
        if isinstance(fault, FailedSync | FailedWrite) and self.running(fault.node):
            return Performed(fault, (), "it strikes when the node syncs or writes")
        nobody = "no such node runs, or it had nothing that the fault could strike"
        return Performed(fault, struck, "" if struck else nobody)

    def note_struck(self, fault: Fault, number: int) -> None:
        """Note that a fault which was set on a node before, such as a failing sync, has now
        struck."""
        self._struck.append((self._now_ns(), Performed(fault, (number,))))
        self.note(f"{fault.name} strikes node {number}")

    def is_shutting_down(self) -> bool:
        """Return whether a node that was shut down has not ended yet (able_clusters.TakesTime)."""
        return any(member.is_leaving for member in self.members.values())

    def take_struck(self) -> Sequence[tuple[int, Performed]]:
        """Return the faults that have struck since the last call after they had been set, with the
        time of each in nanoseconds (able_clusters.StrikesLater)."""
        struck, self._struck = self._struck, []
        return struck

    def _heal(self, fault: Heal) -> Performed:
        self.network.heal()
        struck = []
        for number, member in self.members.items():
            member.end_if_trapped()
            if member.medium.has_failed() or member.disk.trouble.has_failed_sync:
                member.crash(self.lose_power)
            elif member.is_running and member.disk.trouble.refusal not in ("", NO_SPACE):
                member.crash()  # mounting its disk again needs a restart
            if member.is_paused or not member.is_running:
                struck.append(number)
            member.clock.set_right()
            member.resume()
            if member.is_leaving:
                member.start_when_it_has_ended()
            elif not member.is_running:
                member.start()
        return Performed(fault, tuple(struck))

    def lose_power(self, medium: Medium) -> None:
        """Drop from a node's medium what a loss of power destroys, which is partly random."""
        medium.lose_power(self.chance)

    def alive(self) -> bool:
        """Return whether every node runs, is not paused, and listens."""
        return all(member.serves for member in self.members.values())

    def restart(self) -> None:
        """End all faults, and start the nodes again that have ended (Heal)."""
        self.perform(Heal())

    def collect(self, into: Path) -> None:
        """Write the reports of each node to `into`/<number>/reports.log."""
        for number, member in self.members.items():
            kept = into / str(number)
            kept.mkdir(parents=True, exist_ok=True)
            lines = [f"{line}\n" for line in member.reports]
            (kept / "reports.log").write_text("".join(lines))

    def stop(self) -> None:
        """Kill every node that runs."""
        for member in self.members.values():
            if member.is_running:
                member.crash()


Perform = Callable[[SimCluster, Any], Sequence[int]]
"""A function that performs a fault, and returns the numbers of the nodes that it has affected."""
