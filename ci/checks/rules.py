"""Require that each rule of the reference broker decides something, and that a planted bug
overrides it.

A rule that reads none of its arguments, or always returns the same value, is a switch in correct
code: only a bug would take the other branch. Where a bug must change a step of the algorithm, the
rules supply that step as a function, and the bug replaces it.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from ci.checks.registries import REGISTRIES
from ci.checks.sources import parsed, project_files

RULES, BUGS = "reference_impl/core/rules", "reference_impl/bugs"
BASE, EXCUSED = "Rules", "WITHOUT_BUG"

Methods = dict[str, tuple[str, ast.FunctionDef]]
"""Method name -> (file, syntax tree)."""


def rule_violations(root: Path) -> list[str]:
    """Return a sentence for every rule that decides nothing, or has neither a bug nor a reason in
    WITHOUT_BUG; for every bug that overrides something other than a rule; and for every name in
    WITHOUT_BUG that is not a rule."""
    chapters = [node for path in files_of(root, RULES) for node in classes(path)]
    rules = methods(chapters, RULES)
    planted = methods(list(broken_rules(root)), BUGS)
    excused = excused_rules(root)
    sentences = [
        f"{where}: {name} decides nothing, since it ignores its arguments or returns its only one;"
        " move the code that acts on its answer into the rule, so that a bug can override that"
        for name, (where, node) in rules.items()
        if decides_nothing(node)
    ]
    sentences += [
        f"{where}: no planted bug overrides {name}; plant one, or give the reason in {EXCUSED}"
        for name, (where, _) in rules.items()
        if name not in planted and name not in excused
    ]
    sentences += [
        f"{where}: {name} is not the name of a rule, so it overrides nothing; make it private, or"
        " give it the name of the rule that it shall override"
        for name, (where, _) in planted.items()
        if name not in rules
    ]
    return sentences + [
        f"{BUGS}/bug.py: {EXCUSED} names {name}, which is not a rule; remove it"
        for name in sorted(excused - rules.keys())
    ]


def files_of(root: Path, folder: str) -> list[Path]:
    """Return the Python files directly in the folder."""
    paths = project_files(root)
    return [path for path in paths if path.parent == root / folder and path.suffix == ".py"]


def bug_files(root: Path) -> list[Path]:
    """Return the Python files of the folders with planted bugs of brokers."""
    folders = [folder for folder in REGISTRIES if folder.startswith(BUGS)]
    return [path for folder in folders for path in files_of(root, folder)]


def classes(path: Path) -> list[tuple[str, ast.ClassDef]]:
    """Return (file name, class) for each top-level class of a file."""
    return [(path.name, node) for node in parsed(path).body if isinstance(node, ast.ClassDef)]


def methods(found: list[tuple[str, ast.ClassDef]], folder: str) -> Methods:
    """Return method name -> (location, syntax tree) for the public methods of these classes."""
    return {
        node.name: (f"{folder}/{name}:{node.lineno}", node)
        for name, each in found
        for node in each.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


def broken_rules(root: Path) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield (file name, class) for each planted bug: each direct or indirect subclass of Rules."""
    known, left = {BASE}, [each for path in bug_files(root) for each in classes(path)]
    while found := [each for each in left if known & {ast.unparse(b) for b in each[1].bases}]:
        yield from found
        known |= {node.name for _, node in found}
        left = [each for each in left if each not in found]


def excused_rules(root: Path) -> set[str]:
    """Return the names of rules that no bug overrides for a recorded reason: the keys of
    WITHOUT_BUG."""
    rows = [
        node.value
        for node in parsed(root / BUGS / "bug.py").body
        if isinstance(node, ast.Assign) and EXCUSED in {ast.unparse(t) for t in node.targets}
    ]
    keys = [key for row in rows if isinstance(row, ast.Dict) for key in row.keys]
    return {str(key.value) for key in keys if isinstance(key, ast.Constant)}


def decides_nothing(node: ast.FunctionDef) -> bool:
    """Return whether a function reads none of its arguments, or does nothing but return its only
    one."""
    given = [arg.arg for arg in (*node.args.args[1:], *node.args.kwonlyargs)]
    body = node.body[1:] if ast.get_docstring(node) else node.body
    if len(given) == 1 and [ast.unparse(part) for part in body] == [f"return {given[0]}"]:
        return True
    read = {n.id for part in body for n in ast.walk(part) if isinstance(n, ast.Name)}
    return not read & {*given}
