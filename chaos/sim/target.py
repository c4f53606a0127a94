"""The target `sim`: one node of the reference broker in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from chaos.sim.disks.file_system import NO_SPACE, Trap
from chaos.sim.disks.medium import Medium
from chaos.sim.network import State
from chaos.sim.node import DIRECTORY, Alarms, SimNode, keep_all
from chaos.sim.witness import Heard
from chaos.sim.world import VirtualWorld
from chaos.values.faults import (
    POWER_FAULTS,
    ROLES,
    BitFlip,
    ClockJump,
    ClockSkew,
    CutClients,
    DelayAnswers,
    DiskDead,
    DiskFull,
    DiskReadOnly,
    DiskStall,
    FailedSync,
    FailedWrite,
    Fault,
    Heal,
    Kill,
    LostNames,
    Pause,
    PowerLoss,
    ResetConnections,
    Shutdown,
    SlowDisk,
    SlowLinks,
    StallConnections,
    TornWrites,
)
from chaos.values.protocols import Cluster, Performed, TargetError
from chaos.world import joined
from reference_impl.bugs import BUGS
from reference_impl.bugs.clients import CLIENT_BUGS
from reference_impl.client.rules import CORRECT
from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.node import Node
from reference_impl.core.rules import Rules
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.storage import Storage

ADDRESS = ("node-1", 9092)
LISTENER_KEYS = ("listeners", "advertised.listeners", "listener.security.protocol.map")
OWN = {
    "listeners": f"PLAINTEXT://{joined(ADDRESS)}",
    "group.initial.rebalance.delay.ms": "0",  # as on the other targets: 3 s for a new group else
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}
MS = 1 / 1000
CHANGES_MAX = 12
"""By which change of the disk a process ends that is ended in the middle of a step."""


class SimCluster:
    """One simulated node, and the faults on it."""

    def __init__(self, world: VirtualWorld, node: SimNode) -> None:
        self.target = Sim.name
        self.version = "the reference broker in virtual time"
        self.bootstrap = joined(ADDRESS)
        self.listeners: Mapping[str, str] = {}
        self.nodes = 1
        self.focus: tuple[str, int] | None = None
        self.rng = Random(0)
        self.node = node
        self._world = world
        self._chance = world.stream("faults")

    def perform(self, fault: Fault) -> Performed:
        """Perform a fault. Return the nodes that it affected, or the reason why there are none.
        Raise TargetError."""
        if isinstance(fault, Heal):
            return self._heal(fault)
        performer = PERFORMERS.get(type(fault))
        if performer is None:
            able = ", ".join(sorted(kind.__name__ for kind in FAULTS))
            raise TargetError(f"target 'sim' cannot {fault.name}; it can: {able}")
        self._check_node(fault)
        if not self.node.is_running and type(fault) not in POWER_FAULTS - {FailedSync}:
            return Performed(fault, (), "no such node runs")
        has_struck = performer(self, fault) is not False
        return Performed(fault, (1,)) if has_struck else Performed(fault, (), "nothing to strike")

    def _check_node(self, fault: Any) -> None:
        """Raise TargetError if the fault names a node that does not exist. A single node has every
        role."""
        if fault.node != 1 and fault.node not in ROLES:
            raise TargetError(f"there is no node {fault.node!r}; this cluster has node 1 alone")

    def _heal(self, fault: Heal) -> Performed:
        self._world.network.heal(ADDRESS)
        node = self.node
        node.end_if_trapped()
        if node.medium.has_failed():
            node.crash(self._lose_power)
        elif node.is_running and node.disk.trouble.refusal not in ("", NO_SPACE):
            node.crash()  # its disk was mounted again
        struck = node.is_paused or not node.is_running
        node.clock.set_right()
        node.resume()
        if not node.is_running:
            node.start()
        return Performed(fault, (1,) if struck else ())

    def alive(self) -> bool:
        """Return whether the node runs, is not paused, and listens."""
        return self.node.is_running and not self.node.is_paused and self.node.is_listening()

    def restart(self) -> None:
        """Start the node again if it has ended."""
        self.perform(Heal())

    def collect(self, into: Path) -> None:
        """Write the node's reports to `into`/1/reports.log."""
        (into / "1").mkdir(parents=True, exist_ok=True)
        lines = [f"{line}\n" for line in self.node.reports]
        (into / "1" / "reports.log").write_text("".join(lines))

    def stop(self) -> None:
        """End the node."""
        if self.node.is_running:
            self.node.crash()

    # --- faults ---------------------------------------------------------------------------------

    def pause(self, _: Pause) -> None:
        self.node.is_paused = True

    def cut_clients(self, fault: CutClients) -> None:
        network = self._world.network
        network.conditions[ADDRESS].state = State(fault.how)
        if fault.how == "refuse":
            for line in network.lines_to(ADDRESS):
                network.cut(line, "connection reset")

    def reset(self, fault: ResetConnections) -> None:
        network = self._world.network
        network.conditions[ADDRESS].reset_after_s = fault.after_ms * MS
        for line in network.lines_to(ADDRESS):
            network.cut(line, "connection reset")

    def slow_links(self, fault: SlowLinks) -> None:
        conditions = self._world.network.conditions[ADDRESS]
        conditions.latency_s, conditions.jitter_s = fault.latency_ms * MS, fault.jitter_ms * MS

    def delay_answers(self, fault: DelayAnswers) -> None:
        conditions = self._world.network.conditions[ADDRESS]
        conditions.answer_latency_s = fault.latency_ms * MS
        conditions.answer_jitter_s = fault.jitter_ms * MS

    def stall(self, fault: StallConnections) -> None:
        self._world.network.stall(ADDRESS, fault.share, fault.timeout_ms * MS)

    # --- the process and its disk -----------------------------------------------------------------

    def kill(self, _: Kill) -> None:
        self.node.crash(keep_all, self._trap())

    def cut_power(self, _: PowerLoss) -> None:
        self.node.crash(self._lose_power, self._trap())

    def _trap(self) -> Trap | None:
        """Return in half of the cases where the process ends in the middle of a step."""
        return Trap(self._chance.randrange(CHANGES_MAX)) if self._chance.random() < 0.5 else None

    def _lose_power(self, medium: Medium) -> None:
        medium.lose_power(self._chance)

    def tear(self, fault: TornWrites) -> None:
        self.node.crash(lambda medium: medium.tear(fault.how, self._chance), Trap(at_sync=True))

    def lose_names(self, _: LostNames) -> None:
        self.node.crash(Medium.lose_names, self._trap())

    def flip_bit(self, fault: BitFlip) -> bool:
        """Kill the node and flip a bit; return False, and do nothing, if there is no segment."""
        has_struck = self.node.medium.flip_bit(fault.segment, self._chance)
        if has_struck:
            self.node.crash()
            self.node.observer.forget()
        return has_struck

    def refuse_writes(self, fault: DiskDead | DiskReadOnly) -> None:
        trouble = self.node.disk.trouble
        self.node.medium.settle()
        trouble.refuses_syncs = isinstance(fault, DiskDead)
        trouble.refusal = "input/output error" if trouble.refuses_syncs else "read-only disk"

    def fail_sync(self, fault: FailedSync) -> None:
        self.node.disk.trouble.sync_fails_in = fault.number

    def fail_write(self, fault: FailedWrite) -> None:
        trouble = self.node.disk.trouble
        trouble.write_fails_in, trouble.only_indexes = fault.number, fault.only_indexes

    def stall_disk(self, _: DiskStall) -> None:
        self.node.disk.trouble.is_stalled = True

    def fill_disk(self, _: DiskFull) -> None:
        self.node.disk.trouble.refusal = NO_SPACE

    def slow_syncs(self, fault: SlowDisk) -> None:
        self.node.disk.trouble.sync_delay_s = fault.delay_ms * MS


PERFORMERS: Mapping[type[Fault], Callable[[SimCluster, Any], object]] = {
    Kill: SimCluster.kill,
    Shutdown: lambda cluster, _: cluster.node.shut_down(),
    PowerLoss: SimCluster.cut_power,
    TornWrites: SimCluster.tear,
    LostNames: SimCluster.lose_names,
    FailedSync: SimCluster.fail_sync,
    FailedWrite: SimCluster.fail_write,
    BitFlip: SimCluster.flip_bit,
    DiskStall: SimCluster.stall_disk,
    DiskFull: SimCluster.fill_disk,
    DiskReadOnly: SimCluster.refuse_writes,
    DiskDead: SimCluster.refuse_writes,
    SlowDisk: SimCluster.slow_syncs,
    ClockJump: lambda cluster, fault: cluster.node.clock.jump(fault.by_ms),
    ClockSkew: lambda cluster, fault: cluster.node.clock.skew(fault.ppm),
    Pause: SimCluster.pause,
    CutClients: SimCluster.cut_clients,
    ResetConnections: SimCluster.reset,
    SlowLinks: SimCluster.slow_links,
    DelayAnswers: SimCluster.delay_answers,
    StallConnections: SimCluster.stall,
}
FAULTS: frozenset[type[Fault]] = frozenset({Heal, *PERFORMERS})


class Sim:
    """One node of the reference broker in virtual time, with or without a planted bug in the broker
    or in the clients."""

    name = "sim"

    def __init__(self, bug: str | None = None) -> None:
        if bug is not None and bug not in BUGS and bug not in CLIENT_BUGS:
            raise TargetError(f"there is no bug {bug!r}; `touchstone bugs --list` shows them all")
        self.bug = bug
        self.faults = FAULTS
        self.broken: list[tuple[str, str]] = []
        """The invariants that the last run has broken, each with a sentence."""
        self._world = VirtualWorld(0)

    def make_world(self, seed: int) -> VirtualWorld:
        """Return a new World for one run, in which the next cluster lives."""
        rules = CORRECT if self.bug not in CLIENT_BUGS else CLIENT_BUGS[self.bug].rules()
        self._world = VirtualWorld(seed, rules)
        self.broken = []
        return self._world

    def heard(self) -> Heard:
        """Return the contents of all requests and answers between clients and brokers in the last
        run."""
        return self._world.network.witness.heard()

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Start the node, which serves at once. It writes nothing to the directory."""
        if nodes != 1:
            raise TargetError(f"the simulator runs 1 node for now, not {nodes}; say --nodes 1")
        given = config or {}
        if added := [key for key in LISTENER_KEYS if key in given]:
            raise TargetError(f"the simulated node has one plain listener; leave {added[0]} out")
        try:
            settings = BrokerConfig.of({**OWN, **given})
            node = self._node(settings)
        except BadConfig as error:
            raise TargetError(f"target 'sim': {error}") from error
        node.start(at_once=True)
        return SimCluster(self._world, node)

    def _node(self, settings: BrokerConfig) -> SimNode:
        def make(storage: Storage) -> Node:
            node_class, rules = BUGS[self.bug].parts() if self.bug in BUGS else (Node, Rules())
            return node_class(settings, storage, DIRECTORY, Endpoint(*ADDRESS), rules)

        world = self._world
        return SimNode(
            world.network,
            ADDRESS,
            make,
            world.wall_us,
            world.stream("node:1"),
            Alarms(world.fail, lambda name, sentence: self.broken.append((name, sentence))),
        )


def in_virtual_time(rest: str, bug: str | None) -> Sim:
    """Return the target, with the planted bug if one is named."""
    if rest:
        raise TargetError(f"the simulator has no version {rest!r}; write `sim`")
    return Sim(bug)
