"""Components and shortest cycles against a search that tries every way."""

from __future__ import annotations

import time
from itertools import pairwise, permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linearizability.cycles.graph import NEVER, Graph, shortest_cycles

Edges = set[tuple[int, int]]


def graph_of(reads: Edges, asked: list[int], done: list[int]) -> Graph:
    pairs = sorted(reads)
    return Graph(
        np.array([a for a, _ in pairs], dtype=np.int64),
        np.array([b for _, b in pairs], dtype=np.int64),
        np.array(asked, dtype=np.int64),
        np.array(done, dtype=np.int64),
    )


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(2, 6))
    node = st.integers(0, size - 1)
    reads = draw(st.sets(st.tuples(node, node).filter(lambda edge: edge[0] != edge[1])))
    instant = st.one_of(st.integers(0, 8), st.just(NEVER))
    asked = draw(st.lists(instant, min_size=size, max_size=size))
    took = draw(
        st.lists(st.one_of(st.integers(0, 4), st.just(NEVER)), min_size=size, max_size=size)
    )
    done = [NEVER if NEVER in (a, t) else a + t for a, t in zip(asked, took, strict=True)]
    return graph_of(reads, asked, done)


def edges_of(graph: Graph, *, real_time: bool) -> Edges:
    edges = set(zip(graph.writers.tolist(), graph.readers.tolist(), strict=True))
    if real_time:
        edges |= {
            (a, b)
            for a, b in permutations(range(graph.size), 2)
            if graph.done_ns[a] < graph.asked_ns[b] != NEVER
        }
    return edges


def reached(edges: Edges, start: int) -> set[int]:
    found: set[int] = set()
    waiting = [start]
    while waiting:
        here = waiting.pop()
        for a, b in edges:
            if a == here and b not in found:
                found.add(b)
                waiting.append(b)
    return found


def expected(graph: Graph) -> dict[frozenset[int], int]:
    """Return the components that must be reported, and the length of their shortest cycles."""
    answer: dict[frozenset[int], int] = {}
    for real_time in (False, True):
        edges = edges_of(graph, real_time=real_time)
        ways = {n: reached(edges, n) for n in range(graph.size)}
        groups = {frozenset(m for m in ways[n] if n in ways[m]) for n in ways if n in ways[n]}
        told = set().union(*answer)
        for members in groups:
            if not told & members:
                answer[members] = next(
                    length
                    for length in range(2, len(members) + 1)
                    for circle in permutations(members, length)
                    if all(step in edges for step in pairwise([*circle, circle[0]]))
                )
    return answer


@settings(max_examples=300)
@given(graphs())
def test_each_component_is_told_by_one_of_its_shortest_cycles(graph: Graph) -> None:
    cycles = shortest_cycles(graph)
    edges = edges_of(graph, real_time=True)
    for cycle in cycles:
        assert all(step in edges for step in pairwise([*cycle, cycle[0]]))
        assert len(set(cycle)) == len(cycle)
    wanted = expected(graph)
    told = {members: [c for c in cycles if set(c) <= members] for members in wanted}
    assert {members: [len(c) for c in found] for members, found in told.items()} == {
        members: [length] for members, length in wanted.items()
    }
    assert len(cycles) == len(wanted)


def test_half_a_million_transactions_are_searched_in_seconds() -> None:
    size = 500_000
    rng = np.random.default_rng(7)
    asked = np.arange(size, dtype=np.int64) * 10
    readers = rng.integers(1, size, 1_000_000)
    writers = np.maximum(0, readers - rng.integers(1, 50, len(readers)))
    graph = Graph(writers, readers, asked, asked + 35)
    began = time.process_time()
    assert shortest_cycles(graph) == []
    knot = Graph(np.append(writers, 400_000), np.append(readers, 399_000), asked, asked + 35)
    (cycle,) = shortest_cycles(knot)
    assert {399_000, 400_000} <= set(cycle)
    assert time.process_time() - began < 20
