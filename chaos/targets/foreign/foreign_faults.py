"""Faults that the owner's commands bring on and end: links, disks, power, the clock.

| fault                | commands of every node                               |
|----------------------|------------------------------------------------------|
| CutLink, Split       | `cut` (with {peer}), `heal_links`                    |
| CutClients           | `cut_clients`, `heal_links`                          |
| Isolate              | `cut`, `cut_clients`, `heal_links`                   |
| SlowLinks            | `slow_links` (with {ms}), `heal_links`               |
| DiskFull, DiskStall  | `fill_disk`, `free_disk`; `stall_disk`, `release_disk` |
| PowerLoss            | `lose_power`, `start`                                |
| ClockJump            | `set_clock` (with {ms}, signed), `reset_clock`       |

`cut` stops the connections that its node opens towards {peer}, the host of another node; both ways
are cut by the commands of both. {peer_port}, {how} (blackhole or refuse), {jitter_ms} and {where}
(clients, nodes or controllers) are filled in where they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaos.means import owed
from chaos.means.owed import Debt
from chaos.targets.faults.link_faults import SHAPES
from chaos.targets.foreign.commands import run
from chaos.targets.foreign.foreign_file import FAULT_COMMANDS, ForeignNode
from chaos.values.faults import (
    ClockJump,
    CutClients,
    CutLink,
    DiskFull,
    DiskStall,
    Fault,
    Isolate,
    PowerLoss,
    SlowLinks,
    Split,
)
from chaos.values.protocols import TargetError

if TYPE_CHECKING:
    from chaos.targets.foreign.target import ForeignCluster

NEEDED: Mapping[type[Fault], tuple[str, ...]] = {
    CutLink: ("cut",),
    Split: ("cut",),
    CutClients: ("cut_clients",),
    Isolate: ("cut", "cut_clients"),
    SlowLinks: ("slow_links",),
    DiskFull: ("fill_disk",),
    DiskStall: ("stall_disk",),
    PowerLoss: ("lose_power",),
    ClockJump: ("set_clock",),
}
"""Fault -> the commands of a node that begin it. The file names the commands that end it."""


def faults_by_commands(node: ForeignNode) -> set[type[Fault]]:
    """Return the faults that this node's commands perform."""
    return {fault for fault, keys in NEEDED.items() if all(key in node.faults for key in keys)}


class Undoings:
    """The commands that must be run to end the faults that are on; each has a note for the next
    command, should this one be killed."""

    def __init__(self, nodes: Sequence[ForeignNode], folder: Path) -> None:
        self._nodes = nodes
        self._folder = folder
        self._owed: dict[tuple[int, str], owed.Note] = {}

    def strike(self, number: int, key: str, **holes: object) -> None:
        """Run a node's command that brings a fault on. Raise TargetError."""
        node, undo = self._nodes[number - 1], FAULT_COMMANDS[key][0]
        if (number, undo) not in self._owed:
            debt = Debt.of_command(node.address, node.faults[undo], self._folder)
            try:
                self._owed[number, undo] = owed.Note(debt)
            except OSError as error:
                raise TargetError(
                    f"cannot write the note that ends {key} of node {number}: {error.strerror};"
                    " set TMPDIR"
                ) from error
        run(filled(node.faults[key], holes), self._folder)

    def undo(self) -> list[int]:
        """End what is on, and return the nodes. Try each, even after one failed, which stays to be
        ended. Raise TargetError."""
        helped, failure = [], None
        for (number, undo), note in list(self._owed.items()):
            try:
                run(self._nodes[number - 1].faults[undo], self._folder)
            except TargetError as error:
                failure = failure or error
                continue
            note.settle()
            del self._owed[number, undo]
            helped.append(number)
        if failure is not None:
            raise failure
        return sorted(set(helped))


def filled(command: Iterable[str], holes: Mapping[str, object]) -> list[str]:
    """Return the words of a command with {names} replaced by values."""
    words = []
    for word in command:
        for name, value in holes.items():
            word = word.replace(f"{{{name}}}", str(value))
        words.append(word)
    return words


# --- performing -----------------------------------------------------------------------------------


def _cut(cluster: ForeignCluster, pairs: Iterable[tuple[int, int]], how: str) -> list[int]:
    struck: set[int] = set()
    for source, to in pairs:
        host, port = cluster.direct(to)
        cluster.undoings.strike(source, "cut", peer=host, peer_port=port, how=how)
        struck |= {source, to}
    return sorted(struck)


def _cut_link(cluster: ForeignCluster, fault: CutLink) -> list[int]:
    sources, destinations = cluster.resolve(fault.source), cluster.resolve(fault.destination)
    return _cut(cluster, [(s, d) for s in sources for d in destinations if s != d], fault.how)


def _split(cluster: ForeignCluster, fault: Split) -> list[int]:
    around = cluster.resolve(fault.node)
    if not around or cluster.nodes < 2:
        return []
    return _cut(cluster, SHAPES[fault.shape](cluster, around[0]), fault.how)


def _isolate(cluster: ForeignCluster, fault: Isolate) -> Sequence[int]:
    struck = cluster.resolve(fault.node)
    for node in struck:
        others = [other for other in range(1, cluster.nodes + 1) if other != node]
        pairs = [pair for other in others for pair in ((node, other), (other, node))]
        _cut(cluster, pairs, fault.how)
        if fault.with_clients:
            cluster.undoings.strike(node, "cut_clients", how=fault.how)
    return struck


def _lose_power(cluster: ForeignCluster, fault: PowerLoss) -> list[int]:
    """Take the power from all nodes that it means, one right after the other."""
    struck = []
    for node in cluster.resolve(fault.node):
        member = cluster.member(node)
        if member.running:
            member.process.lose_power()
            struck.append(node)
    return struck


def _each(key: str, *fields: tuple[str, str]) -> Callable[[ForeignCluster, Any], Sequence[int]]:
    """Return what runs one command on each node, with fields of the fault filled in."""

    def perform(cluster: ForeignCluster, fault: Any) -> Sequence[int]:
        struck = cluster.resolve(fault.node)
        for node in struck:
            holes = {hole: getattr(fault, field) for hole, field in fields}
            cluster.undoings.strike(node, key, **holes)
        return struck

    return perform


PERFORMERS: Mapping[type[Fault], Callable[[ForeignCluster, Any], Sequence[int]]] = {
    CutLink: _cut_link,
    Split: _split,
    Isolate: _isolate,
    CutClients: _each("cut_clients", ("how", "how")),
    SlowLinks: _each(
        "slow_links", ("ms", "latency_ms"), ("jitter_ms", "jitter_ms"), ("where", "where")
    ),
    DiskFull: _each("fill_disk"),
    DiskStall: _each("stall_disk"),
    PowerLoss: _lose_power,
    ClockJump: _each("set_clock", ("ms", "by_ms")),
}
"""Fault -> what has the owner's commands do it, and says which nodes it struck."""
