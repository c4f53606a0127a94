"""Require every module of a registry folder to appear in the table in that folder's `__init__.py`.

The table is any assignment to an upper-case name, such as `NEMESES = {n.name: n for n in
(KillLeader, DiskStall)}`.
"""

import ast
from pathlib import Path

from ci.checks.sources import parsed, project_files

REGISTRIES: dict[str, frozenset[str]] = {
    "chaos/nemeses": frozenset({"rounds"}),
    "chaos/workloads": frozenset(
        {"asking", "lives", "reading", "removed", "sending", "transacting", "values"}
    ),
    "chaos/targets": frozenset({"mock_broker"}),
    "reference_impl/bugs": frozenset({"bug"}),
    "reference_impl/bugs/cluster": frozenset(),
    "reference_impl/bugs/deleting": frozenset(),
    "reference_impl/bugs/grouping": frozenset(),
    "reference_impl/bugs/producing": frozenset({"recompression"}),
    "reference_impl/bugs/reading": frozenset(),
    "reference_impl/bugs/recovering": frozenset(),
    "reference_impl/bugs/transacting": frozenset(),
    "reference_impl/core/handlers": frozenset({"altering_configs", "forwarding"}),
}
"""Folder -> the files in it that the table need not contain, because they only serve the other
files."""


def registered_modules(init: Path) -> set[str]:
    """Return the sibling modules from which at least one name appears in a table."""
    tree = parsed(init)
    origin: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                # `from . import fetch` names the module itself, `from .fetch import f` its content
                own_folder = node.module is None or node.module.endswith(init.parent.name)
                origin[name] = alias.name if own_folder else str(node.module).split(".")[-1]
    used: set[str] = set()
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if value and any(isinstance(t, ast.Name) and t.id.isupper() for t in targets):
            used |= {inner.id for inner in ast.walk(value) if isinstance(inner, ast.Name)}
    return {origin[name] for name in used & origin.keys()}


def registry_violations(root: Path) -> list[str]:
    """Return a sentence for every module that is missing from its folder's table."""
    files = project_files(root)
    sentences = []
    for folder, helpers in REGISTRIES.items():
        inside = {f.stem for f in files if f.parent == root / folder and f.suffix == ".py"}
        modules = inside - {"__init__", "__main__", "conftest"} - helpers
        init = root / folder / "__init__.py"
        listed = registered_modules(init) if init.is_file() else set()
        sentences += [
            f"{folder}/{module}.py stands in no table of {folder}/__init__.py; add its row,"
            " or name it a helper in ci/checks/registries.py"
            for module in sorted(modules - listed)
        ]
    return sentences
