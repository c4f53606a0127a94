"""Limit the lines of functions (aim 50, limit 70) and files (aim 400, limit 450)."""

import ast
from collections.abc import Iterator
from pathlib import Path

from ci.checks.sources import parsed, python_files

FUNCTION_LINES_AIM, FUNCTION_LINES_MAX = 50, 70
FILE_LINES_AIM, FILE_LINES_MAX = 400, 450


def measured(root: Path) -> Iterator[tuple[str, str, int]]:
    """Yield (location, kind, number of lines) of every file, and of every function in it; kind is
    "file" or "function"."""
    for path in python_files(root):
        name = path.relative_to(root)
        yield f"{name}", "file", len(path.read_text().splitlines())
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield f"{name}:{node.lineno}: {node.name}", "function", lines


def size_violations(root: Path) -> list[str]:
    """Return a sentence for each file of more than FILE_LINES_MAX lines, and each function of more
    than FUNCTION_LINES_MAX."""
    limits = {"file": FILE_LINES_MAX, "function": FUNCTION_LINES_MAX}
    return [
        f"{where} is a {kind} of {lines} lines; the limit is {limits[kind]}, split it by concept"
        for where, kind, lines in measured(root)
        if lines > limits[kind]
    ]


def size_advice(root: Path) -> list[str]:
    """Return a sentence for each file and function above FILE_LINES_AIM or FUNCTION_LINES_AIM but
    within the limit; these are printed, not refused."""
    aims = {"file": FILE_LINES_AIM, "function": FUNCTION_LINES_AIM}
    limits = {"file": FILE_LINES_MAX, "function": FUNCTION_LINES_MAX}
    return [
        f"{where}: a {kind} of {lines} lines (aim {aims[kind]})"
        for where, kind, lines in measured(root)
        if aims[kind] < lines <= limits[kind]
    ]
