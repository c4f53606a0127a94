"""Require a conformance case that compares inside a loop over an answer's rows to demand at least
one row.

A loop over an empty list compares nothing and passes; `for row in each(answer.topics):` fails then.
"""

import ast
from pathlib import Path

from ci.checks.sources import parsed, python_files

CASES = "conformance/cases"
COMPARES = "expect"


def loop_violations(root: Path) -> list[str]:
    """Return a sentence for every loop in a case that may run zero times and then compare
    nothing."""
    found: list[str] = []
    for path in python_files(root):
        if not path.relative_to(root).as_posix().startswith(CASES):
            continue
        for function in ast.walk(parsed(path)):
            if isinstance(function, ast.FunctionDef):
                where = path.relative_to(root)
                found += [
                    f"{where}:{line}: a loop that compares rows checks nothing if there are none;"
                    ' write `for … in each(rows, "what they are")`'
                    for line in _bare_loops(function)
                ]
    return list(dict.fromkeys(found))


def _bare_loops(function: ast.FunctionDef) -> list[int]:
    values = {
        target.id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    lines = []
    for node in ast.walk(function):
        if isinstance(node, ast.For) and _compares(node.body):
            rows = node.iter
            if isinstance(rows, ast.Name):
                rows = values.get(rows.id, rows)
            if _are_of_an_answer(rows):
                lines.append(node.lineno)
    return lines


def _compares(body: list[ast.stmt]) -> bool:
    calls = (n for part in body for n in ast.walk(part) if isinstance(n, ast.Call))
    return any(isinstance(c.func, ast.Name) and c.func.id.startswith(COMPARES) for c in calls)


def _are_of_an_answer(rows: ast.expr) -> bool:
    """Return whether the loop's expression takes rows from an attribute, such as `answer.topics`, a
    slice of it, or a comprehension over it."""
    if isinstance(rows, ast.Subscript):
        return _are_of_an_answer(rows.value)
    if isinstance(rows, (ast.ListComp, ast.GeneratorExp)):
        return any(_are_of_an_answer(part.iter) for part in rows.generators)
    return isinstance(rows, ast.Attribute)
