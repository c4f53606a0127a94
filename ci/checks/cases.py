"""Require functions that share a conformance case id to have one priority and lie in one folder.

A selection by priority or folder would otherwise run half of such a case and count it as whole.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ci.checks.sources import parsed, python_files

CASES = "conformance/cases"
USUAL_PRIORITY = "P0"
"""The priority of a `@case` that states none."""


@dataclass(frozen=True)
class Part:
    """One function of a conformance case, and its location in the sources."""

    id: str
    priority: str
    path: Path
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.id}"


def case_violations(root: Path) -> list[str]:
    """Return a sentence for every function of a case whose priority or folder differs from that of
    the case's other functions, or whose name occurs twice."""
    by_id: dict[str, list[Part]] = defaultdict(list)
    for path in python_files(root):
        if path.relative_to(root).as_posix().startswith(CASES):
            for part in _parts(parsed(path), path.relative_to(root)):
                by_id[part.id].append(part)
    return [sentence for parts in by_id.values() for sentence in _sentences(parts)]


def _sentences(parts: list[Part]) -> Iterator[str]:
    first, names = parts[0], set[str]()
    for part in parts:
        if part.priority != first.priority:
            yield (
                f"{part} has the priority {part.priority} here and {first.priority} in {first};"
                " give both the same"
            )
        if part.path.parent != first.path.parent:
            yield f"{part} stands in another folder than {first}; put them together"
        if part.function in names:
            yield f"{part} has two functions called {part.function}; the reports need two names"
        names.add(part.function)


def _parts(tree: ast.Module, path: Path) -> Iterator[Part]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for call in function.decorator_list:
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            if call.func.id == "case" and call.args and isinstance(call.args[0], ast.Constant):
                told = {word.arg: word.value for word in call.keywords}
                given = told.get("priority")
                priority = given.value if isinstance(given, ast.Constant) else USUAL_PRIORITY
                found = str(call.args[0].value), str(priority), path, function.lineno
                yield Part(*found, function.name)
