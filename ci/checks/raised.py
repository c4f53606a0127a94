"""Find the functions that raise an error of their own, and do not say so in their docstring.

Only errors that leave the function count: not those that it catches itself, not the bare `raise`
that lets an error pass, and not those that only a programming error causes.
"""

import ast
import re
from collections.abc import Iterator, Sequence

SAYS = re.compile(r"raise|refus|\b(?:require|fail|prove)\b", re.IGNORECASE)
"""A docstring has one of these words, or names the error. A function that exists to refuse says
"Require …", "Fail unless …" or "Prove that …" instead of "Raise …"."""
OF_PROGRAMMERS = frozenset(
    ("AssertionError", "NotImplementedError", "RuntimeError", "StopIteration", "TypeError")
)
"""The errors that say nothing about what a caller gave or met."""
ENDINGS = frozenset(("Exit", "Interrupted", "KeyboardInterrupt", "SystemExit"))
"""The exceptions that end a program, which are no errors."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def untold(node: Function, text: str) -> Iterator[str]:
    """Yield the problem if the function raises an error that its docstring does not mention. Yield
    nothing for a command, whose docstring is its help, which speaks to users."""
    is_command = "typer." in ast.unparse(node.args)
    if is_command or SAYS.search(text):
        return
    errors = sorted(set(raised(node.body, frozenset())))
    if errors and not any(error in text for error in errors):
        yield f"{node.name} raises {' and '.join(errors)}: say 'Raise … if …' (or Fail, Require)"


def raised(body: Sequence[ast.stmt], caught: frozenset[str]) -> Iterator[str]:
    """Yield the name of each error that these statements make and let out. caught: the errors that
    a `try` around them catches."""
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.Raise(exc=ast.expr() as error):
                name = name_of(error)
                is_made = name[:1].isupper() or (isinstance(error, ast.Call) and not caught)
                if is_made and name not in caught | OF_PROGRAMMERS | ENDINGS:
                    yield name
            case ast.Try():
                yield from raised(statement.body, caught | names_caught(statement))
                others = (handler.body for handler in statement.handlers)
                for each in (*others, statement.orelse, statement.finalbody):
                    yield from raised(each, caught)
            case _:
                for block in blocks_of(statement):
                    yield from raised(block, caught)


def blocks_of(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """Yield the blocks of statements inside an `if`, a loop, a `with` or a `match`."""
    for name in ("body", "orelse"):
        yield getattr(statement, name, [])
    for case in getattr(statement, "cases", []):
        yield case.body


def names_caught(statement: ast.Try) -> frozenset[str]:
    """Return the names of the errors that the handlers of a `try` catch."""
    kinds = [handler.type for handler in statement.handlers if handler.type is not None]
    return frozenset(
        name_of(each)
        for kind in kinds
        for each in (kind.elts if isinstance(kind, ast.Tuple) else [kind])
    )


def name_of(error: ast.expr) -> str:
    """Return the name of an error's class, or of the function or method that makes it, or "" if it
    has none."""
    named = error.func if isinstance(error, ast.Call) else error
    match named:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
