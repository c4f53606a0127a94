"""Faults are values: nemeses yield them, targets perform them. This file knows no way to do either.

A node is named by its number (1, 2, …) or by a role that the target resolves when it performs the
fault: "leader" (of the partition that the workload calls interesting), "follower", "controller",
"random", "all".
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal

Node = int | str
"""A node number from 1, or one of ROLES."""

ROLES = ("leader", "follower", "controller", "random", "all")

How = Literal["blackhole", "refuse"]
"""blackhole: bytes vanish, connections hang.  refuse: connections end and new ones are refused."""


@dataclass(frozen=True)
class Fault:
    """Base of all faults."""

    @property
    def name(self) -> str:
        return type(self).__name__

    def to_json(self) -> str:
        """For the history's `detail` column: {"fault": "Kill", "node": "leader"}."""
        return json.dumps({"fault": self.name, **asdict(self)})


@dataclass(frozen=True)
class Kill(Fault):
    """SIGKILL the process of a node. Heal starts it again on the same data."""

    node: Node


@dataclass(frozen=True)
class Pause(Fault):
    """SIGSTOP the process of a node. Heal continues it."""

    node: Node


@dataclass(frozen=True)
class CutLink(Fault):
    """Cut connections opened by `source` towards `destination` (one directed link)."""

    source: Node
    destination: Node
    how: How = "blackhole"


@dataclass(frozen=True)
class Isolate(Fault):
    """Cut a node from all other nodes, both directions; with_clients: from its clients too."""

    node: Node
    with_clients: bool = False
    how: How = "blackhole"


@dataclass(frozen=True)
class CutClients(Fault):
    """Cut a node's clients from it; the links between nodes stay."""

    node: Node
    how: How = "blackhole"


@dataclass(frozen=True)
class DelayAnswers(Fault):
    """Hold back every answer of a node to its clients for latency_ms ± jitter_ms."""

    node: Node
    latency_ms: int
    jitter_ms: int = 0


@dataclass(frozen=True)
class DiskStall(Fault):
    """A node's disk hangs: writes and syncs wait, reads of what is cached go on. Heal ends it."""

    node: Node


@dataclass(frozen=True)
class DiskFull(Fault):
    """A node's disk has no room left. Heal makes room, and starts the node if it gave up."""

    node: Node


@dataclass(frozen=True)
class PowerLoss(Fault):
    """Nodes stop at once, and what they had not synced is gone. Heal starts them on what is left.

    Unlike Kill, which leaves what the operating system had been given.
    """

    node: Node


@dataclass(frozen=True)
class Heal(Fault):
    """Undo every fault: links open, disks well, processes continued, dead ones started again."""

    WHOLE: ClassVar[bool] = True


FAULTS: dict[str, type[Fault]] = {
    fault.__name__: fault
    for fault in (
        Kill, Pause, CutLink, Isolate, CutClients, DelayAnswers, DiskStall, DiskFull, PowerLoss,
        Heal,
    )
}  # fmt: skip

DISK_FAULTS: frozenset[type[Fault]] = frozenset({DiskStall, DiskFull, PowerLoss})
"""They need nodes on disks of their own (chaos/disks.py)."""
