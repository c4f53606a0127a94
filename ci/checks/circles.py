"""Forbid circular imports, including imports for type checking only.

Modules in a circle can only be understood all together. Move what two modules need from each other
into a third one below both, or let the lower one declare its need as a Protocol.
"""

from collections.abc import Iterator
from pathlib import Path

from ci.checks.imports import imported_modules
from ci.checks.sources import is_test, module_name, python_files

Graph = dict[str, set[str]]


def circle_violations(root: Path) -> list[str]:
    """Return a sentence for every circle of modules."""
    graph = graph_of(root)
    return [
        f"{' -> '.join(path_around(graph, circle))}: a circle of imports; remove one of them"
        for circle in circles(graph)
    ]


def graph_of(root: Path) -> Graph:
    """Return module -> the modules that it imports anywhere in its code, for any purpose."""
    files = {
        module_name(root, path): path for path in python_files(root) if not is_test(path, root)
    }
    return {
        module: {each for _, each in imported_modules(root, path) if each in files} - {module}
        for module, path in files.items()
    }


def circles(graph: Graph) -> Iterator[set[str]]:
    """Yield each strongly connected set of modules: those from which every other one in the set is
    reachable. A module that is in no circle is left out."""
    left = set(graph)
    while left:
        start = min(left)
        ahead = reached(graph, start)
        circle = {each for each in ahead & left if start in reached(graph, each)}
        if circle:
            yield circle
        left -= circle | {start}


def reached(graph: Graph, start: str) -> set[str]:
    """Return all modules that can be reached from this one by imports. It is one of them only if it
    is in a circle."""
    found: set[str] = set()
    ahead = [start]
    while ahead:
        new = graph[ahead.pop()] - found
        found |= new
        ahead += new
    return found


def path_around(graph: Graph, circle: set[str]) -> list[str]:
    """Return a shortest path of imports from the first module of a circle, in alphabetical order,
    back to itself."""
    start = min(circle)
    paths, seen = [[start]], {start}
    for path in paths:
        if start in graph[path[-1]]:
            return [*path, start]
        new = sorted((graph[path[-1]] & circle) - seen)
        seen.update(new)
        paths += [[*path, each] for each in new]
    return [start]
