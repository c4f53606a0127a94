"""Limit the number of parameters of public functions: values that belong together are passed as one
object."""

import ast
from collections.abc import Iterator
from pathlib import Path

from ci.checks.sources import parsed, python_files

PARAMETERS_MAX = 6
EXCEPTIONS: dict[str, int] = {
    "Broker.__init__": 8,
    "Coordinators.ask": 10,
    "Gathering.record": 7,
    "Network.ask": 10,
    "Node.__init__": 7,
    "OperationsBuilder.add": 11,
    "PartitionLog.open": 12,
    "Recorder.record": 7,
    "Sender.__init__": 8,
    "Wire.fetch_request": 12,
    "case": 7,
    "check": 7,
    "commit_request": 9,
    "list_offset": 8,
    "log_in": 7,
    "read": 7,
    "run_nightly": 7,
    "with_header": 11,
    "write_marker": 8,
}
"""Public function or Class.method -> the number of parameters that it may have instead of
PARAMETERS_MAX. This list may only shrink."""
COMMANDS = ("ci", "commands")
"""The folder of functions whose parameters are the options of a command, typed one by one."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def public_functions(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, Function]]:
    """Yield (qualified name, node) for each public function, and each public method and __init__ of
    a public class, in a body. within: the prefix of the names, such as "Class."."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node.body, f"{node.name}.")
        elif isinstance(node, Function) and (
            node.name == "__init__" or not node.name.startswith("_")
        ):
            yield f"{within}{node.name}", node


def parameters_of(function: Function) -> int:
    """Return the number of named parameters that a caller may pass, without self and cls."""
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def parameter_violations(root: Path) -> list[str]:
    """Return a sentence for every public function with too many parameters, and for every exception
    in the list that is larger than needed."""
    sentences = []
    most: dict[str, int] = {}
    for path in python_files(root):
        if path.relative_to(root).parts[: len(COMMANDS)] == COMMANDS:
            continue
        for name, function in public_functions(parsed(path).body):
            taken, allowed = parameters_of(function), EXCEPTIONS.get(name, PARAMETERS_MAX)
            most[name] = max(taken, most.get(name, 0))
            if taken > allowed:
                sentences.append(
                    f"{path.relative_to(root)}:{function.lineno}: {name} takes {taken} parameters;"
                    f" the limit is {allowed}, pass what belongs together as one value"
                )
    return sentences + [
        f"{name} takes {most[name]} parameters now; correct or remove its row in"
        " ci/checks/parameters.py"
        for name, allowed in EXCEPTIONS.items()
        if most.get(name, allowed) < allowed
    ]
