"""Refuse docstrings that a reader cannot understand without the body.

A docstring begins with a verb, or names what a class, module or property is. It does not begin with
a clause that lacks its head ("Who missed a generation …", "What is in force …"), and it says
"Return …" and "Raise …" in sentences, not after a semicolon. Ruff's D401 checks the verb.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from ci.checks.sources import parsed, python_files

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

HEADLESS = re.compile(r"(?:Who|What|Whose|Whom|Whoever|Whatever|Of (?:which|whom|what))\b")
"""The beginnings that no docstring may have."""
CLAUSE = re.compile(r"(?:How|Why|Which|Where|When|Whether)\b")
"""The beginnings that the docstring of a function may not have. A property or a class may name
itself in this way, and a case or a test may state its condition first."""
RETURNED = re.compile(
    r"; (?:(?:raises|returns|yields)\b|(?:None|True|False) (?:if|for|unless|when|where|while)\b)"
)
UNUSUAL = re.compile(r"\b(?:anew|the same goes|what is none)\b", re.IGNORECASE)


def prose_violations(root: Path) -> list[str]:
    """Return a sentence for every docstring that breaks one of these rules."""
    return [
        f"{path.relative_to(root)}:{node.body[0].lineno}: {problem}"
        for path in python_files(root)
        for node in ast.walk(parsed(path))
        if isinstance(node, Documented) and (text := ast.get_docstring(node))
        for problem in problems_of(node, " ".join(text.split()))
    ]


def problems_of(node: Documented, text: str) -> Iterator[str]:
    """Yield each problem in the docstring of this node, in words."""
    opening = HEADLESS.match(text) or (is_called(node) and CLAUSE.match(text))
    if opening:
        yield f"begins with {opening.group()!r}: begin with a verb (Return, Raise), or name it"
    if found := RETURNED.search(text):
        yield f"{found.group()!r}: say 'Return …' or 'Raise …' in a sentence of its own"
    if found := UNUSUAL.search(text):
        yield f"{found.group()!r}: use a word of everyday technical English"


def is_called(node: Documented) -> bool:
    """Return whether the node is a plain function or method: not a property, a test or a
    conformance case."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    is_property = any(name.endswith("property") for name in decorators)
    return not is_property and not node.name.startswith("test_")
