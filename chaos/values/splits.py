"""Compute the shapes in which a fault divides the nodes of a cluster: which directed links it
cuts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random
from typing import Protocol

Pairs = Iterable[tuple[int, int]]
"""Pairs of nodes (source, destination); the source opens the connections."""


class Divisible(Protocol):
    """The attributes of a cluster that a shape of a network partition needs."""

    nodes: int
    rng: Random


def both_ways(pairs: Pairs) -> Iterator[tuple[int, int]]:
    """Yield each pair and its reverse."""
    for source, to in pairs:
        yield source, to
        yield to, source


def halves(cluster: Divisible, node: int) -> Pairs:
    """Return the links, in both directions, between a random minority that contains the node, and
    the other nodes."""
    others = _shuffled(cluster, node)
    fewer = [node, *others[: (cluster.nodes - 1) // 2 - 1]]
    rest = [other for other in others if other not in fewer]
    return both_ways((one, other) for one in fewer for other in rest)


def bridge(cluster: Divisible, node: int) -> Pairs:
    """Return the links, in both directions, between two random halves of the other nodes; the node
    itself still reaches both halves."""
    others = _shuffled(cluster, node)
    half = len(others) // 2
    return both_ways((one, other) for one in others[:half] for other in others[half:])


def ring(cluster: Divisible, node: int) -> Pairs:
    """Yield the links to cut so that each node can open connections only to the next half of the
    nodes, by number."""
    count = cluster.nodes
    for source in range(count):
        seen = {(source + step) % count for step in range(count // 2 + 1)}
        yield from ((source + 1, to + 1) for to in range(count) if to not in seen)


def _shuffled(cluster: Divisible, node: int) -> list[int]:
    others = [other for other in range(1, cluster.nodes + 1) if other != node]
    cluster.rng.shuffle(others)
    return others


SHAPES: Mapping[str, Callable[[Divisible, int], Pairs]] = {
    "halves": halves,
    "bridge": bridge,
    "ring": ring,
}
