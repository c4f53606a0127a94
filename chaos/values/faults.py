"""Faults as values: nemeses yield them and targets perform them. This module does neither.

A node is named by its number (1, 2, …) or by a role that the target resolves when it performs the
fault: "leader" (of the partition that the workload names as its focus), "follower", "controller",
"random", "all", or another of ROLES.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal

Node = int | str
"""A node's number, counted from 1, or one of ROLES."""

ROLES = (
    "leader",
    "follower",
    "controller",
    "group-coordinator",
    "transaction-coordinator",
    "random",
    "next",
    "minority",
    "majority",
    "all",
)
"""The roles. next: each node in turn. minority, majority: that many nodes, chosen at random.
group-coordinator, transaction-coordinator: the node that coordinates some group, or some
transactional id. A single node is leader and follower."""

How = Literal["blackhole", "refuse"]
"""blackhole: bytes vanish, connections hang.  refuse: connections end and new ones are refused."""


Where = Literal["clients", "nodes", "controllers"]
"""The links of a node that a fault affects: those of its clients; those with other nodes as
brokers; or those with other nodes as controllers. A single node has only those of its clients,
whichever is named."""

Shape = Literal["halves", "bridge", "ring"]
Election = Literal["preferred", "unclean"]
Tear = Literal["torn", "reordered", "scattered"]
Segment = Literal["closed", "active"]


@dataclass(frozen=True)
class Fault:
    """The base of all faults: values that a nemesis yields and a cluster's `perform` takes."""

    @property
    def name(self) -> str:
        return type(self).__name__

    def to_json(self) -> str:
        """Return the fault for the history's `detail` column: {"fault": "Kill", "node":
        "leader"}."""
        return json.dumps({"fault": self.name, **asdict(self)})


@dataclass(frozen=True)
class Kill(Fault):
    """SIGKILL the process of a node. Heal restarts it on the same data."""

    node: Node


@dataclass(frozen=True)
class Pause(Fault):
    """SIGSTOP the process of a node. Heal continues it."""

    node: Node


@dataclass(frozen=True)
class Shutdown(Fault):
    """SIGTERM the process of a node: it hands over its leaderships and ends cleanly. Heal restarts
    it."""

    node: Node


@dataclass(frozen=True)
class CutLink(Fault):
    """Cut the connections that `source` opens to `destination` (one directed link)."""

    source: Node
    destination: Node
    how: How = "blackhole"


@dataclass(frozen=True)
class DropPackets(Fault):
    """Drop the packets from source to destination; those in the other direction arrive.

    This stops TCP in both directions, since nothing is acknowledged: unlike CutLink, it does so
    whichever node opened the connection.
    """

    source: Node
    destination: Node


@dataclass(frozen=True)
class LosePackets(Fault):
    """Drop a random share, in percent, of the packets that reach a node."""

    node: Node
    percent: int


@dataclass(frozen=True)
class Isolate(Fault):
    """Cut a node from all other nodes, in both directions; with_clients: also from its clients."""

    node: Node
    with_clients: bool = False
    how: How = "blackhole"


@dataclass(frozen=True)
class CutClients(Fault):
    """Cut a node from its clients; the links between nodes stay."""

    node: Node
    how: How = "blackhole"


@dataclass(frozen=True)
class CutControllers(Fault):
    """Cut a node's controller from the other controllers, in both directions; its broker stays
    reachable."""

    node: Node
    how: How = "blackhole"


@dataclass(frozen=True)
class Split(Fault):
    """Divide the nodes from each other; clients reach all of them.

    halves: a minority that contains `node`, and the rest. bridge: two halves that cannot reach each
    other, and `node`, which reaches both. ring: each node opens connections only to the next half
    of the nodes, by number, so that each reaches a majority and no two reach the same.
    """

    shape: Shape
    node: Node = "random"
    how: How = "blackhole"


@dataclass(frozen=True)
class SlowLinks(Fault):
    """Delay the links of a node that `where` names by latency_ms ± jitter_ms, each way."""

    node: Node
    latency_ms: int
    jitter_ms: int = 0
    where: Where = "clients"


@dataclass(frozen=True)
class NarrowLinks(Fault):
    """Limit a node's links to rate_kb_s kilobytes per second, each way."""

    node: Node
    rate_kb_s: int
    where: Where = "clients"


@dataclass(frozen=True)
class ResetConnections(Fault):
    """End connections instead of passing a response, after_ms later; the request was executed, but
    the client does not learn that. Toxiproxy resets connections (TCP RST) that are opened after the
    fault began, and closes those that were open."""

    node: Node
    after_ms: int = 0
    where: Where = "clients"


@dataclass(frozen=True)
class SlowClose(Fault):
    """Let one end of a connection notice delay_ms late that the other end has closed it."""

    node: Node
    delay_ms: int
    where: Where = "clients"


@dataclass(frozen=True)
class LimitData(Fault):
    """End a connection after the given number of bytes in one direction: in the middle of a request
    or a response."""

    node: Node
    size_bytes: int
    where: Where = "clients"


@dataclass(frozen=True)
class StallConnections(Fault):
    """Let a random share of the connections transfer nothing and end after timeout_ms; the others
    are not affected. A heal before that ends the stall: a proxy then closes the connections, in the
    simulator they go on. It stands for packet loss where only TCP connections can be
    influenced."""

    node: Node
    share: float = 0.5
    timeout_ms: int = 3000
    where: Where = "clients"


@dataclass(frozen=True)
class DelayAnswers(Fault):
    """Hold back every response of a node to its clients for latency_ms ± jitter_ms."""

    node: Node
    latency_ms: int
    jitter_ms: int = 0


@dataclass(frozen=True)
class DiskStall(Fault):
    """Make a node's disk hang: writes and syncs wait; reads of cached data still work. Heal ends
    the stall."""

    node: Node


@dataclass(frozen=True)
class DiskFull(Fault):
    """Fill a node's disk. Heal makes room, and restarts the node if it has stopped."""

    node: Node


@dataclass(frozen=True)
class PowerLoss(Fault):
    """Stop nodes at once and lose the data that they had not synced. Heal restarts them on the
    remaining data.

    Kill, in contrast, keeps all data that the operating system had accepted.
    """

    node: Node


@dataclass(frozen=True)
class DiskReadOnly(Fault):
    """Turn a node's file system read-only, as ext4 does when it meets an error: writes fail with
    EROFS, reads still work. Everything written before is kept. Heal ends the node, mounts the disk
    again, and restarts the node."""

    node: Node


@dataclass(frozen=True)
class DiskDead(Fault):
    """Fail every write and sync of a node's disk with EIO. Everything written before is kept. Heal
    ends the node, mounts the disk again, and restarts the node."""

    node: Node


@dataclass(frozen=True)
class SlowDisk(Fault):
    """Make every sync of a node take the given time longer."""

    node: Node
    delay_ms: int


@dataclass(frozen=True)
class FailedSync(Fault):
    """Fail a node's `number`th sync from now with EIO. No later sync stores the data that this one
    should have stored. Heal cuts the node's power, and restarts it."""

    node: Node
    number: int = 1


@dataclass(frozen=True)
class FailedWrite(Fault):
    """Fail a node's `number`th write from now with EIO; with only_indexes, count only writes to
    indexes. Heal restarts the node if it has stopped."""

    node: Node
    number: int = 1
    only_indexes: bool = False


@dataclass(frozen=True)
class TornWrites(Fault):
    """Cut the power while a node waits for a sync, and store only a part of the unsynced data.

    torn: the first half of each file's unsynced end, by sectors, and zeros where the rest would be.
    reordered: all of these ends except the largest, as if the last writes had been stored first.
    scattered: a random choice of sectors.
    """

    node: Node
    how: Tear = "torn"


@dataclass(frozen=True)
class LostNames(Fault):
    """Cut the power, and lose the unsynced data as well as new files and directories whose parent
    directory was not synced (fsync(2))."""

    node: Node


@dataclass(frozen=True)
class BitFlip(Fault):
    """Kill a node, and flip one bit in one of its segments. Heal restarts the node. A node without
    a segment of the kind that has records is left alone.

    active: a segment that is still written to. closed: one that is not written to any more.
    """

    node: Node
    segment: Segment = "active"


@dataclass(frozen=True)
class ClockJump(Fault):
    """Move a node's wall clock forward by by_ms milliseconds, or back if that is negative. Heal
    sets it right, by another jump."""

    node: Node
    by_ms: int


@dataclass(frozen=True)
class ClockSkew(Fault):
    """Make a node's wall clock run faster by ppm parts per million, or slower if that is negative.
    Heal sets it right, by a jump."""

    node: Node
    ppm: int


@dataclass(frozen=True)
class Elect(Fault):
    """Request an election (KIP-460) for the workload's focus partition.

    preferred: elect the first of its replicas, which must be in sync: no acknowledged record may be
    lost. unclean: elect any living replica if there is no leader: records that only dead replicas
    hold are lost.
    """

    kind: Election


@dataclass(frozen=True)
class MoveReplicas(Fault):
    """Reassign the focus partition (KIP-455): remove its first replica, or, the next time, make all
    nodes its replicas again. A heal does not change it."""


@dataclass(frozen=True)
class AdminStorm(Fault):
    """Create a number of topics that no client uses, alter and extend them, and delete them."""

    topics: int = 5


@dataclass(frozen=True)
class Heal(Fault):
    """Undo every fault: open links, repair disks, continue paused processes, restart dead ones."""

    WHOLE: ClassVar[bool] = True
