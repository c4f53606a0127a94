"""No module needs another that needs it in turn: imports for types alone count as well.

A circle is read all at once or not at all. What two modules need of each other belongs to a third
below both, or the lower one says by a Protocol what it needs.
"""

from collections.abc import Iterator
from pathlib import Path

from ci.checks.imports import imported_modules
from ci.checks.sources import is_test, module_name, python_files

HERE = "ci/checks/circles.py"
Graph = dict[str, set[str]]

LEFT = frozenset({"linearizability.history", "linearizability.sound_rows"})
"""Modules of circles that are still to be cut; the list only shrinks."""


def circle_violations(root: Path) -> list[str]:
    """Return a sentence for every circle of modules, and for what the list need not name."""
    graph = graph_of(root)
    found = list(circles(graph))
    inside = {module for circle in found for module in circle}
    sentences = [
        f"{' -> '.join(path_around(graph, circle))}: a circle; cut it"
        for circle in found
        if not circle <= LEFT
    ]
    return sentences + [
        f"{module} is in no circle any more; take it off the list in {HERE}"
        for module in sorted(LEFT & graph.keys() - inside)
    ]


def graph_of(root: Path) -> Graph:
    """Return which modules each module imports, wherever in it and for whatever."""
    files = {
        module_name(root, path): path for path in python_files(root) if not is_test(path, root)
    }
    return {
        module: {each for _, each in imported_modules(root, path) if each in files} - {module}
        for module, path in files.items()
    }


def circles(graph: Graph) -> Iterator[set[str]]:
    """Yield the largest sets of modules of which each leads to all others."""
    left = set(graph)
    while left:
        start = min(left)
        ahead = reached(graph, start)
        circle = {each for each in ahead & left if start in reached(graph, each)}
        if circle:
            yield circle
        left -= circle | {start}


def reached(graph: Graph, start: str) -> set[str]:
    """Return the modules that this one leads to."""
    found: set[str] = set()
    ahead = [start]
    while ahead:
        new = graph[ahead.pop()] - found
        found |= new
        ahead += new
    return found


def path_around(graph: Graph, circle: set[str]) -> list[str]:
    """Return a way from one of these modules back to it."""
    start = min(circle)
    paths, seen = [[start]], {start}
    for path in paths:
        if start in graph[path[-1]]:
            return [*path, start]
        new = sorted((graph[path[-1]] & circle) - seen)
        seen.update(new)
        paths += [[*path, each] for each in new]
    return [start]
