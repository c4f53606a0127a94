"""Faults are values: nemeses yield them, targets perform them. This file knows no way to do either.

A node is named by its number (1, 2, …) or by a role that the target resolves when it performs the
fault: "leader" (of the partition that the workload calls interesting), "follower", "controller",
"random", "all", or another of ROLES.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal

Node = int | str
"""A node number from 1, or one of ROLES."""

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
"""next: each node in turn.  minority, majority: so many nodes, chosen by chance.  coordinators: of
some group, or of some transactional id, that there is. A lone node is leader and follower."""

How = Literal["blackhole", "refuse"]
"""blackhole: bytes vanish, connections hang.  refuse: connections end and new ones are refused."""


Where = Literal["clients", "nodes", "controllers"]
"""Which of a node's links: those of its clients; those with other nodes, as brokers; or those with
other nodes, as controllers. A lone node has only those of its clients, whichever is named."""

Shape = Literal["halves", "bridge", "ring"]
Election = Literal["preferred", "unclean"]
Tear = Literal["torn", "reordered", "scattered"]
Segment = Literal["closed", "active"]


@dataclass(frozen=True)
class Fault:
    """Base of all faults."""

    @property
    def name(self) -> str:
        return type(self).__name__

    def to_json(self) -> str:
        """Return the fault for the history's `detail` column: {"fault": "Kill", "node":
        "leader"}."""
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
class Shutdown(Fault):
    """SIGTERM: a node ends in good order, handing over what it leads. Heal starts it again."""

    node: Node


@dataclass(frozen=True)
class CutLink(Fault):
    """Cut connections opened by `source` towards `destination` (one directed link)."""

    source: Node
    destination: Node
    how: How = "blackhole"


@dataclass(frozen=True)
class DropPackets(Fault):
    """Lose the packets from source to destination; those in the other direction arrive.

    This stops TCP both ways, since nothing is acknowledged: unlike CutLink, it does so whichever
    side dialled.
    """

    source: Node
    destination: Node


@dataclass(frozen=True)
class LosePackets(Fault):
    """A share of the packets that reach a node, in percent, is lost at random."""

    node: Node
    percent: int


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
class CutControllers(Fault):
    """Cut a node from the other controllers, and them from it; as a broker it is reached."""

    node: Node
    how: How = "blackhole"


@dataclass(frozen=True)
class Split(Fault):
    """Divide the nodes from each other; clients reach them all.

    halves: a minority with `node` in it, and the rest.  bridge: two halves that do not see each
    other, and `node`, which sees both.  ring: each node opens connections only to those next to it,
    by number, so that each dials a majority and no two the same.
    """

    shape: Shape
    node: Node = "random"
    how: How = "blackhole"


@dataclass(frozen=True)
class SlowLinks(Fault):
    """Delay everything on a node's links by latency_ms ± jitter_ms, each way."""

    node: Node
    latency_ms: int
    jitter_ms: int = 0
    where: Where = "clients"


@dataclass(frozen=True)
class NarrowLinks(Fault):
    """A node's links pass rate_kb_s kilobytes a second, each way."""

    node: Node
    rate_kb_s: int
    where: Where = "clients"


@dataclass(frozen=True)
class ResetConnections(Fault):
    """End connections instead of answering, after_ms later, new ones by a reset (TCP RST): the
    request was executed, but the client does not learn that. Toxiproxy resets those that are opened
    after it was asked to; those that are open then are closed."""

    node: Node
    after_ms: int = 0
    where: Where = "clients"


@dataclass(frozen=True)
class SlowClose(Fault):
    """When one end of a connection closes it, let the other learn of it delay_ms later."""

    node: Node
    delay_ms: int
    where: Where = "clients"


@dataclass(frozen=True)
class LimitData(Fault):
    """A connection ends after so many bytes one way: in the midst of a request or an answer."""

    node: Node
    size_bytes: int
    where: Where = "clients"


@dataclass(frozen=True)
class StallConnections(Fault):
    """Let a random share of the connections pass nothing and end after timeout_ms; others go on.
    This is the effect of lost packets where only TCP can be influenced."""

    node: Node
    share: float = 0.5
    timeout_ms: int = 3000
    where: Where = "clients"


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
class DiskReadOnly(Fault):
    """Turn a node's file system read-only, as ext4 does when it meets an error: writes fail with
    EROFS, reads go on. What was written before is on it, as when ext4 still had the time. Heal ends
    the node, mounts the disk again, and starts it."""

    node: Node


@dataclass(frozen=True)
class DiskDead(Fault):
    """Fail every write and sync of a node's disk with EIO. What was written before is on it. Heal
    ends the node, mounts the disk again, and starts it."""

    node: Node


@dataclass(frozen=True)
class SlowDisk(Fault):
    """Every sync of a node takes so much longer."""

    node: Node
    delay_ms: int


@dataclass(frozen=True)
class FailedSync(Fault):
    """One sync of a node fails with EIO, the `number`th from now, and no later one brings what it
    should have brought to the medium. Heal ends the node by a loss of power, and starts it."""

    node: Node
    number: int = 1


@dataclass(frozen=True)
class FailedWrite(Fault):
    """One write of a node to a file fails with EIO, the `number`th from now; or to an index. Heal
    starts the node if it gave up."""

    node: Node
    number: int = 1
    only_indexes: bool = False


@dataclass(frozen=True)
class TornWrites(Fault):
    """The power fails while a node waits for a sync, and of what was not synced some is there.

    torn: the first half of each file's unsynced end, by sectors, and zeros where the rest would be.
    reordered: all but the largest of these ends, which is gone: what was written last is there.
    scattered: each sector by chance.
    """

    node: Node
    how: Tear = "torn"


@dataclass(frozen=True)
class LostNames(Fault):
    """The power fails, and the names of new files and directories are gone with what was not
    synced, unless their directory was synced (fsync(2))."""

    node: Node


@dataclass(frozen=True)
class BitFlip(Fault):
    """A node is killed, and one bit of one of its segments is another. Heal starts it again.

    active: the segment that is written to.  closed: one that is not any more.
    """

    node: Node
    segment: Segment = "active"


@dataclass(frozen=True)
class ClockJump(Fault):
    """A node's wall clock is put forward, or back. Heal puts it right: a jump, too."""

    node: Node
    by_ms: int


@dataclass(frozen=True)
class ClockSkew(Fault):
    """A node's wall clock runs faster, or slower, by so many parts in a million."""

    node: Node
    ppm: int


@dataclass(frozen=True)
class Elect(Fault):
    """Ask for elections (KIP-460) of the partition which the workload calls interesting.

    preferred: the first of its replicas, which must be in sync: nothing acknowledged may be lost.
    unclean: any replica that lives, if nobody leads: what only dead ones hold is lost.
    """

    kind: Election


@dataclass(frozen=True)
class MoveReplicas(Fault):
    """Reassign the interesting partition (KIP-455): its first replica leaves, or all nodes are its
    replicas again, in turn. A heal leaves it as it is."""


@dataclass(frozen=True)
class AdminStorm(Fault):
    """Make a number of topics that nobody uses, alter and extend them, and delete them again."""

    topics: int = 5


@dataclass(frozen=True)
class Heal(Fault):
    """Undo every fault: links open, disks well, processes continued, dead ones started again."""

    WHOLE: ClassVar[bool] = True


FAULTS: dict[str, type[Fault]] = {
    fault.__name__: fault
    for fault in (
        Kill,
        Pause,
        Shutdown,
        CutLink,
        Isolate,
        CutClients,
        CutControllers,
        Split,
        DelayAnswers,
        SlowLinks,
        NarrowLinks,
        ResetConnections,
        SlowClose,
        LimitData,
        StallConnections,
        DropPackets,
        LosePackets,
        Elect,
        MoveReplicas,
        AdminStorm,
        DiskStall,
        DiskFull,
        DiskReadOnly,
        DiskDead,
        PowerLoss,
        SlowDisk,
        FailedSync,
        FailedWrite,
        TornWrites,
        LostNames,
        BitFlip,
        ClockJump,
        ClockSkew,
        Heal,
    )
}

PROCESS_FAULTS: frozenset[type[Fault]] = frozenset({Kill, Pause, Shutdown})

ADMIN_FAULTS: frozenset[type[Fault]] = frozenset({Elect, MoveReplicas, AdminStorm})
"""The faults that an administrator causes."""

PACKET_FAULTS: frozenset[type[Fault]] = frozenset({DropPackets, LosePackets})
"""They need nodes with network namespaces of their own (chaos/means/netns)."""

TOXIC_FAULTS: frozenset[type[Fault]] = frozenset(
    {SlowLinks, NarrowLinks, ResetConnections, SlowClose, LimitData, StallConnections}
)
"""The faults that make links worse without cutting them."""

CUT_FAULTS: frozenset[type[Fault]] = frozenset(
    {CutLink, Isolate, CutClients, CutControllers, Split}
)

LINK_FAULTS: frozenset[type[Fault]] = CUT_FAULTS | TOXIC_FAULTS | {DelayAnswers}
"""They need a target that was started proxied; CUT_FAULTS are had by namespaces, too."""

DISK_FAULTS: frozenset[type[Fault]] = frozenset(
    {DiskStall, DiskFull, DiskReadOnly, DiskDead, PowerLoss}
)
"""They need nodes on disks of their own (chaos/means/disks.py). PowerLoss can do with the shim."""

SHIM_FAULTS: frozenset[type[Fault]] = frozenset(
    {SlowDisk, FailedSync, FailedWrite, TornWrites, LostNames, ClockJump, ClockSkew}
)
"""They need nodes that are preloaded (chaos/means/shim)."""

POWER_FAULTS: frozenset[type[Fault]] = frozenset({PowerLoss, FailedSync, TornWrites, LostNames})
"""The faults that lose acknowledged but unflushed records, which Kafka does not promise to keep."""
