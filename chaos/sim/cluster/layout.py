"""Choose the addresses and settings of simulated nodes, in the same way as for targets that run
processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chaos.values.detection import QUICK_FAILURE_DETECTION
from chaos.values.faults import Where
from chaos.values.protocols import TargetError
from chaos.world import Address, joined

CLIENT, INTERNAL, CONTROLLER = "CLIENT", "INTERNAL", "CONTROLLER"
PORTS = {CLIENT: 9092, INTERNAL: 9093, CONTROLLER: 9094}
LISTENER_OF: Mapping[Where, str] = {"clients": CLIENT, "nodes": INTERNAL, "controllers": CONTROLLER}
OWN_KEYS = ("listeners", "advertised.listeners", "listener.security.protocol.map", "process.roles")
NODES_MAX, REPLICAS_MAX = 9, 3
NODE = "{node}"
"""The placeholder for the node's number in a setting, for example in broker.rack."""
OF_ALL = {
    "group.initial.rebalance.delay.ms": "0",  # as on the other targets: 3 s for a new group else
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}


@dataclass(frozen=True)
class Layout:
    """The nodes of a simulated cluster. All are brokers, and the first of them are controllers,
    too."""

    nodes: int
    controllers: int

    @classmethod
    def of(cls, nodes: int, controllers: int | None) -> Layout:
        """Return the layout of this many nodes. controllers: how many of the nodes are controllers;
        None: all, but at most three. Raise TargetError if one of the numbers is not possible."""
        if not 1 <= nodes <= NODES_MAX:
            raise TargetError(
                f"the simulator runs 1 to {NODES_MAX} nodes, not {nodes}; choose one of these"
            )
        count = min(nodes, REPLICAS_MAX) if controllers is None else controllers
        if not 1 <= count <= nodes:
            raise TargetError(
                f"sim:{count} with --nodes {nodes}: give a number of controllers from 1 to {nodes}"
            )
        return cls(nodes, count)

    def numbers(self) -> range:
        """Return the numbers of the nodes."""
        return range(1, self.nodes + 1)

    def address(self, node: int, listener: str) -> Address:
        """Return the address of a node's listener."""
        return f"node-{node}", PORTS[listener]

    def listeners(self, node: int) -> dict[str, Address]:
        """Return the addresses of a node's listeners, the clients' first."""
        if self.nodes == 1:
            names: tuple[str, ...] = (CLIENT,)
        elif node <= self.controllers:
            names = (CLIENT, INTERNAL, CONTROLLER)
        else:
            names = (CLIENT, INTERNAL)
        return {name: self.address(node, name) for name in names}

    @property
    def bootstrap(self) -> str:
        """The bootstrap addresses of the cluster, which clients are configured with."""
        return ",".join(joined(self.address(node, CLIENT)) for node in self.numbers())

    def settings(self, node: int, given: Mapping[str, str]) -> dict[str, str]:
        """Return the settings of a node: the layout's defaults, replaced by those that are given
        for all nodes, in which "{node}" becomes its number. Raise TargetError if one of OWN_KEYS
        is given, which only the layout may set."""
        if added := [key for key in OWN_KEYS if key in given]:
            raise TargetError(f"the simulator sets {added[0]} for each node; leave it out")
        listeners = self.listeners(node)
        replicas, in_sync = str(min(self.nodes, REPLICAS_MAX)), "2" if self.nodes >= 3 else "1"
        own = {
            "listeners": ",".join(f"{name}://{joined(at)}" for name, at in listeners.items()),
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in PORTS),
            "default.replication.factor": replicas,
            "min.insync.replicas": in_sync,
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": in_sync,
            **OF_ALL,
        }
        if self.nodes > 1:
            own |= self._settings_of_several(node)
        return {**own, **{key: value.replace(NODE, str(node)) for key, value in given.items()}}

    def _settings_of_several(self, node: int) -> dict[str, str]:
        voters = range(1, self.controllers + 1)
        quorum = [f"{voter}@{joined(self.address(voter, CONTROLLER))}" for voter in voters]
        return {
            "process.roles": "broker,controller" if node in voters else "broker",
            "node.id": str(node),
            "controller.quorum.voters": ",".join(quorum),
            "controller.listener.names": CONTROLLER,
            "inter.broker.listener.name": INTERNAL,
            **QUICK_FAILURE_DETECTION,
        }
