"""The target `sim`: nodes of the reference broker in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from uuid import UUID

from chaos.sim.cluster.cluster import SimCluster
from chaos.sim.cluster.layout import Layout
from chaos.sim.cluster.link_faults import LINK_FAULTS
from chaos.sim.cluster.machine_faults import MACHINE_FAULTS
from chaos.sim.cluster.node import DIRECTORY, Alarms, Place, SimNode
from chaos.sim.disks.file_system import FileSystem
from chaos.sim.invariants.known_cluster import KnownCluster
from chaos.sim.invariants.observer import Observer
from chaos.sim.witness import Heard
from chaos.sim.world import VirtualWorld
from chaos.values.faults import Fault, Heal
from chaos.values.protocols import Cluster, TargetError
from reference_impl.bugs.clients import CLIENT_BUGS
from reference_impl.bugs.cluster import BROKER_BUGS
from reference_impl.client.rules import CORRECT
from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.log.directories.data_directory import DataDirectory, uuid_text
from reference_impl.core.node import Node
from reference_impl.core.rules import Rules
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.storage import Storage

FAULTS: frozenset[type[Fault]] = frozenset({Heal, *LINK_FAULTS, *MACHINE_FAULTS})
Moment = tuple[float, str]
"""The virtual seconds since a run began, and a sentence about what happened then."""
READY_TIMEOUT_S = 60.0
"""The virtual seconds within which all brokers of a new cluster must know each other."""


class Sim:
    """Nodes of the reference broker in virtual time, with or without a planted bug in the brokers
    or in the clients."""

    def __init__(self, bug: str | None = None, controllers: int | None = None) -> None:
        """Start nothing yet. controllers: how many of the nodes are controllers, too; None stands
        for all, but at most three. Raise TargetError if there is no bug of this name."""
        if bug is not None and bug not in BROKER_BUGS and bug not in CLIENT_BUGS:
            raise TargetError(f"there is no bug {bug!r}; `touchstone bugs --list` shows them all")
        self.name = "sim" if controllers is None else f"sim:{controllers}"
        self.bug = bug
        self.faults = FAULTS
        self.broken: list[tuple[str, str]] = []
        """The invariants that the last run has broken, each with a sentence."""
        self.note: Callable[[Moment], None] = lambda moment: None
        """Called with each fault, election and broken invariant of a run."""
        self._controllers = controllers
        self._world = VirtualWorld(0)

    def make_world(self, seed: int) -> VirtualWorld:
        """Return a new World for one run, in which the next cluster lives. Forget the last run's
        World, and the invariants that it has broken."""
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
        """Start the nodes, and let virtual time pass until each knows that all are alive. They
        write nothing to the directory, and `proxied` is ignored. Raise TargetError if a number of
        nodes or a setting is invalid, or the nodes do not form a cluster in time."""
        layout, known = Layout.of(nodes, self._controllers), KnownCluster(self._note)
        try:
            members = {
                number: self._node(layout, number, config or {}, known)
                for number in layout.numbers()
            }
        except BadConfig as error:
            raise TargetError(f"target {self.name!r}: {error}") from error
        performers = {**LINK_FAULTS, **MACHINE_FAULTS}
        cluster = SimCluster(self._world, layout, members, performers)
        cluster.target, cluster.note = self.name, self._note
        for member in members.values():
            member.start(at_once=True)
        self._await_ready(cluster)
        return cluster

    def _note(self, sentence: str) -> None:
        self.note((self._world.monotonic(), sentence))

    def _note_broken(self, name: str, sentence: str) -> None:
        self.broken.append((name, sentence))
        self._note(f"invariant {name}: {sentence}")

    def _await_ready(self, cluster: SimCluster) -> None:
        """Advance virtual time until every node knows that all brokers are alive. Raise TargetError
        if that takes more than READY_TIMEOUT_S."""
        agenda = self._world.agenda
        while not all(knows_all(member, cluster.nodes) for member in cluster.members.values()):
            if self._world.monotonic() > READY_TIMEOUT_S or not agenda.step():
                raise TargetError(
                    f"the {cluster.nodes} simulated nodes have not formed a cluster after"
                    f" {self._world.monotonic():.1f} s of virtual time; check their settings"
                )

    def _node(
        self, layout: Layout, number: int, given: Mapping[str, str], known: KnownCluster
    ) -> SimNode:
        """Return a node with a formatted data directory, not started. Raise BadConfig for an
        invalid setting."""
        settings = BrokerConfig.of(layout.settings(number, given))
        listeners = layout.listeners(number)
        first, *others = (Endpoint(*address) for address in listeners.values())
        advertised = dict(zip([*listeners][1:], others, strict=True))

        def make(storage: Storage) -> Node:
            node_class, rules = (
                BROKER_BUGS[self.bug].parts() if self.bug in BROKER_BUGS else (Node, Rules())
            )
            return node_class(
                settings, storage, DIRECTORY, first, rules, also_advertised=advertised
            )

        world = self._world
        rng = world.stream(f"node:{number}")
        node = SimNode(
            world.network,
            Place(number, {address: name for name, address in listeners.items()}),
            make,
            world.wall_us,
            rng,
            Alarms(world.fail, Observer(known, self._note_broken)),
        )
        if layout.nodes > 1:
            cluster_id = uuid_text(UUID(int=world.stream("cluster").getrandbits(128)))
            draw = partial(rng.getrandbits, 128)
            storage = FileSystem(node.medium, rng)
            DataDirectory.format(storage, DIRECTORY, number, lambda: UUID(int=draw()), cluster_id)
            node.medium.settle()
        return node


def knows_all(member: SimNode, nodes: int) -> bool:
    """Return whether a node knows that exactly `nodes` brokers are alive (not fenced)."""
    if member.core is None:
        return False
    known = member.core.broker.image.brokers.values()
    return sum(not broker.fenced for broker in known) == nodes


def in_virtual_time(rest: str, bug: str | None) -> Sim:
    """Return the target, with the planted bug if one is named. rest: the number of controllers, ""
    for the usual number. Raise TargetError if it is not a number, or if there is no such bug."""
    if rest and not rest.isdecimal():
        raise TargetError(
            f"the simulator has no version {rest!r}; write `sim`, or `sim:1` for one controller"
        )
    return Sim(bug, int(rest) if rest else None)
