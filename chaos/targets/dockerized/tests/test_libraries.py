"""Test that the container of the reference gets all libraries that the broker imports besides
Python's own."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import reference_impl
from chaos.targets.dockerized.reference import LIBRARIES


def imported(module: Path) -> Iterator[str]:
    """Yield the packages that a module cannot do without: what it tries to import is left out, and
    of two branches by Python's version the one of the older counts."""
    body = ast.parse(module.read_text()).body
    older = [node for branch in body if isinstance(branch, ast.If) for node in branch.orelse]
    for node in [*body, *older]:
        if isinstance(node, ast.ImportFrom) and node.module == "backports":
            yield from (f"backports.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_the_libraries_are_those_that_the_broker_imports() -> None:
    home = Path(reference_impl.__path__[0])
    parts = [home / name for name in ("core", "host", "wire", "bugs")]
    modules = [file for part in parts for file in part.rglob("*.py") if "tests" not in file.parts]
    found = {name for module in modules for name in imported(module)}
    assert found - sys.stdlib_module_names - {"reference_impl"} == set(LIBRARIES.values())
