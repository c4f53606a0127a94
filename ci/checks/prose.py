"""Refuse docstrings and comments that a reader cannot understand without the body.

A docstring begins with a verb, or names what a class, module or property is. None of its sentences
begins with a clause that lacks its head ("Who missed a generation …", "What is in force …"), nor
does a comment, or the text below an attribute. It says "Return …" and "Raise …" in sentences, not
after a semicolon, and mentions an error that the function itself raises. Ruff's D401 checks the
verb.
"""

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from ci.checks.raised import Function, untold
from ci.checks.sources import parsed, python_files

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

HEADLESS = re.compile(
    r"(?:^|(?<=[.:] ))(?:Who|What|Whose|Whom|Whoever|Whatever|Of (?:which|whom|what))\b"
    r"(?=[^.?]*(?:\.|$))"
)
"""The beginnings that no sentence may have, except a question."""
COMMENT = re.compile(r"(?:^ *|  )# (.*)", re.MULTILINE)
CLAUSE = re.compile(r"(?:How|Why|Which|Where|When)\b")
"""The beginnings that the docstring of a function or a class, or the text below an attribute, may
not have. A property or a module may name itself in this way, and a case or a test may state its
condition first."""
WHETHER = re.compile(r"Whether\b")
"""A beginning for attributes and properties only: a function begins with "Return whether"."""
RETURNED = re.compile(
    r"; (?:(?:raises|returns|yields)\b|(?:None|True|False) (?:if|for|unless|when|where|while)\b)"
)
UNUSUAL = re.compile(r"\b(?:anew|the same goes|what is none)\b", re.IGNORECASE)


def prose_violations(root: Path) -> list[str]:
    """Return a sentence for every docstring, attribute text or comment that breaks a rule."""
    return [
        f"{path.relative_to(root)}:{line}: {problem}"
        for path in python_files(root)
        for line, problem in chain(in_texts(parsed(path)), in_comments(path.read_text()))
    ]


def in_texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield (line, problem) for the docstrings of a file, and the texts below its attributes."""
    for node in ast.walk(tree):
        if isinstance(node, Documented):
            for statement in node.body:
                if text := text_of(statement):
                    is_docstring = statement is node.body[0]
                    problems = problems_of(node, text) if is_docstring else unnamed(text)
                    yield from ((statement.lineno, problem) for problem in problems)


def in_comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, problem) for the comments of a file."""
    for found in COMMENT.finditer(source):
        line = source.count("\n", 0, found.start()) + 1
        problems = chain(headless(found.group(1)), unusual(found.group(1)))
        yield from ((line, problem) for problem in problems)


def text_of(statement: ast.stmt) -> str | None:
    """Return the words of a statement that is nothing but a string, or None."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        text = statement.value.value
        return " ".join(text.split()) if isinstance(text, str) else None
    return None


def headless(text: str) -> Iterator[str]:
    """Yield the problem if a sentence, except a question, begins with a clause without its head."""
    if found := HEADLESS.search(text):
        yield f"a sentence begins with {found.group()!r}: begin with a verb or name the thing"


def unnamed(text: str) -> Iterator[str]:
    """Yield each problem of a text that should name its attribute, class or function."""
    yield from headless(text)
    if opening := CLAUSE.match(text):
        yield f"begins with {opening.group()!r}: begin with a verb (Return, Raise), or name it"


def unusual(text: str) -> Iterator[str]:
    """Yield the problem if the text has a word that few readers know."""
    if found := UNUSUAL.search(text):
        yield f"{found.group()!r}: use a word of everyday technical English"


def problems_of(node: Documented, text: str) -> Iterator[str]:
    """Yield each problem in the docstring of this node, in words."""
    is_function = is_called(node)
    yield from unnamed(text) if is_function or isinstance(node, ast.ClassDef) else headless(text)
    if is_function and WHETHER.match(text):
        yield "begins with 'Whether': begin with 'Return whether'"
    if is_function and isinstance(node, Function):
        yield from untold(node, text)
    if found := RETURNED.search(text):
        yield f"{found.group()!r}: say 'Return …' or 'Raise …' in a sentence of its own"
    yield from unusual(text)


def is_called(node: Documented) -> bool:
    """Return whether the node is a plain function or method: not a property, a test or a
    conformance case."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    is_property = any(name.endswith("property") for name in decorators)
    return not is_property and not node.name.startswith("test_")
