"""Components and shortest cycles of a graph of transactions.

An edge leads from what was decided first to what was decided later: by a read (the writer was
committed before its reader), or by real time (one commit was acknowledged before the other was
asked for). Real time gives an edge for almost every pair of transactions. To save edges, the graph
has a chain of instants, one per acknowledged commit, in order: each transaction leads to its own
instant, each instant to the next one, and the last one before a commit was asked for leads to that
transaction. So the graph stays as large as the history.

The search has no time limit. In a component that is too large to search from each of its
transactions, the cycle found is the shortest through some of them (`STEPS_MAX`), and perhaps not
the shortest of all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

STEPS_MAX = 2_000_000
"""About the most edges to follow in the search for the shortest cycle of one component; the first
of its searches is always completed."""
NEVER = np.iinfo(np.int64).max

Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Graph:
    """Transactions 0, 1, …; the i-th read leads from `writers[i]` to `readers[i]`.

    asked_ns, done_ns: when the commit of each transaction was requested, and when it was
    acknowledged, or NEVER if it was not.
    """

    writers: Numbers
    readers: Numbers
    asked_ns: Numbers
    done_ns: Numbers

    @property
    def size(self) -> int:
        return len(self.asked_ns)


@dataclass(frozen=True)
class Component:
    """A set of transactions, each of which leads to every other one."""

    members: list[int]
    readers_of: dict[int, list[int]]
    """Writer -> the transactions in the component that read from it, in order."""
    by_asked: list[tuple[int, int]] = field(default_factory=list)
    """(asked_ns, transaction) in order, if real time counts: used to find the commits requested
    after an acknowledgement."""


def shortest_cycles(graph: Graph) -> list[list[int]]:
    """Return a shortest cycle of every component that is connected by reads alone. Then return one
    of every component that is connected only by reads and real time together, and shares no
    transaction with the former. A cycle lists its transactions in order; `shortest_cycle` says
    where it begins, and when it may not be the shortest of all."""
    by_reads = list(components(graph, real_time=False))
    seen = {member for component in by_reads for member in component.members}
    added = [
        component
        for component in components(graph, real_time=True)
        if seen.isdisjoint(component.members)
    ]
    return [shortest_cycle(graph, component) for component in (*by_reads, *added)]


def components(graph: Graph, *, real_time: bool) -> Iterator[Component]:
    """Yield the strongly connected components of more than one transaction, in the order of their
    lowest members. real_time: whether the edges of real time count, beside those of reads."""
    # The import takes as long as the judgement of a short history, most of which have no cycles.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    sources, targets = [graph.writers], [graph.readers]
    nodes = graph.size
    if real_time:
        nodes += _add_instants(graph, sources, targets)
    edges = np.concatenate(sources), np.concatenate(targets)
    matrix = coo_array((np.ones(len(edges[0]), dtype=np.int8), edges), shape=(nodes, nodes))
    _, labels = connected_components(matrix.tocsr(), directed=True, connection="strong")
    labels = labels[: graph.size]
    order = np.argsort(labels, kind="stable")
    _, starts, sizes = np.unique(labels[order], return_index=True, return_counts=True)
    readers_of = _readers_inside(graph, labels)
    found = [order[s : s + n].tolist() for s, n in zip(starts, sizes, strict=True) if n > 1]
    for members in sorted(found):
        asked = [(int(graph.asked_ns[m]), m) for m in members if graph.asked_ns[m] != NEVER]
        by_asked = sorted(asked) if real_time else []
        yield Component(members, {m: readers_of.get(m, []) for m in members}, by_asked)


def _add_instants(graph: Graph, sources: list[Numbers], targets: list[Numbers]) -> int:
    """Append to `sources` and `targets` the edges that real time implies: from each acknowledged
    commit through a chain of instants to each commit that was asked for later. Return the number of
    instants, which are numbered after the transactions."""
    done = np.flatnonzero(graph.done_ns != NEVER)
    done = done[np.argsort(graph.done_ns[done], kind="stable")]
    instants = np.arange(len(done)) + graph.size
    asked = np.flatnonzero(graph.asked_ns != NEVER)
    before = np.searchsorted(graph.done_ns[done], graph.asked_ns[asked], side="left") - 1
    later = before >= 0
    sources += [done, instants[:-1], instants[before[later]]]
    targets += [instants, instants[1:], asked[later]]
    return len(done)


def _readers_inside(graph: Graph, labels: Numbers) -> dict[int, list[int]]:
    """Return writer -> its readers in the same component."""
    inside = labels[graph.writers] == labels[graph.readers]
    found: dict[int, list[int]] = {}
    pairs = zip(graph.writers[inside].tolist(), graph.readers[inside].tolist(), strict=True)
    for writer, reader in sorted(pairs):
        found.setdefault(writer, []).append(reader)
    return found


def shortest_cycle(graph: Graph, component: Component) -> list[int]:
    """Return the shortest cycle found by searching from the component's transactions, lowest number
    first, as many of them as STEPS_MAX allows. It begins with the transaction searched from."""
    edges = sum(map(len, component.readers_of.values())) + len(component.members)
    starts = component.members[: max(1, STEPS_MAX // edges)]
    cycles = (cycle_through(start, graph.done_ns, component) for start in starts)
    return min(cycles, key=len)


def cycle_through(start: int, done_ns: Sequence[int] | Numbers, component: Component) -> list[int]:
    """Return a shortest cycle through `start`: breadth first, reads before real time. Raise
    ValueError if there is none."""
    came_from: dict[int, int] = {}
    queue = deque([start])
    unreached = len(component.by_asked)
    while queue:
        here = queue.popleft()
        following = list(component.readers_of[here])
        # All commits requested after this acknowledgement that are not reached yet.
        while unreached and component.by_asked[unreached - 1][0] > done_ns[here]:
            unreached -= 1
            following.append(component.by_asked[unreached][1])
        for reached in following:
            if reached == start:
                return _way(came_from, start, here)
            if reached not in came_from:
                came_from[reached] = here
                queue.append(reached)
    raise ValueError(f"transaction {start} is in no cycle of its component")


def _way(came_from: dict[int, int], start: int, end: int) -> list[int]:
    way = [end]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]
