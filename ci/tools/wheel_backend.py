"""Build the wheel: the five packages of the checkout as one package, `touchstone`.

A user's project may have packages of its own called `ci`, `chaos` or `conformance`, so the wheel
must not install such names. Only the wheel is arranged like this: the checkout, its editable
install and the source distribution keep the folders as they are. The build copies the packages
under `touchstone/`, writes `touchstone.` in front of their names wherever one imports another, and
leaves the rest to setuptools.

pip calls the functions at the end by the names that PEP 517 and PEP 660 give them.
"""

import ast
import io
import os
import re
import shutil
import tempfile
import tokenize
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from setuptools import build_meta

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "touchstone"
PACKAGES = ("reference_impl", "linearizability", "chaos", "conformance", "ci")
MORE_FILES = (
    "README.md",
    "LICENSE",
    "docker-compose.yml",
    "requirements-go.lock",
    "requirements-java.lock",
    "requirements-node.lock",
)
"""Files outside the packages that the program reads, or that a package index shows."""
KIT = '"""Names for plugins."""\n\nfrom ci.plugins.kit import __getattr__\n'
"""The content of a module that exists only in the wheel."""
IGNORED = ("__pycache__", "*.pyc", ".*_cache", "README.md")
FOR_THE_CHECKOUT = frozenset({"airgap", "checks", "docs", "wheel"})
"""The folders of ci that are used only in a checkout, and are left out of the wheel."""
_MODULE = re.compile(rf"({'|'.join(PACKAGES)})(\.\w+)+")
"""The pattern of a text that is the full name of a module, such as the argument of `python -m`."""
_PACKAGE = re.compile(rf"({'|'.join(PACKAGES)})\.")
SET_UP_OF_CHECKOUT, SET_UP_OF_WHEEL = "make setup", "touchstone setup"
"""The command that messages tell the user to type if a tool is missing: in a checkout, and in the
wheel."""
_SETTINGS = {
    'touchstone = "ci.commands.start:main"': f'touchstone = "{NAMESPACE}.ci.commands.start:main"',
    'touchstone = "ci.plugins.fixtures"': f'touchstone = "{NAMESPACE}.ci.plugins.fixtures"',
    'include = ["reference_impl*", "linearizability*", "chaos*", "conformance*", "ci*"]': (
        f'include = ["{NAMESPACE}*"]'
    ),
    '"reference_impl.wire.schemas" = ["*.json"]\n': f'{NAMESPACE} = ["**/*"]\n',
    '"conformance.expectations" = ["*.toml"]\n': "",
    '"ci.report" = ["templates/*"]\n': "",
    'backend-path = ["ci/tools"]\n': "",
    'build-backend = "wheel_backend"': 'build-backend = "setuptools.build_meta"',
}
"""Line of pyproject.toml -> the line that replaces it for the wheel."""


class BuildError(RuntimeError):
    """The tree cannot be arranged as one package; the message names the file and what to do."""


def renamed(source: str, file: str) -> str:
    """Return a module's source with `touchstone.` in front of the project's own packages.

    Change import statements, and texts that are the full name of a module. Raise BuildError for
    `import PACKAGE.MODULE`, since the name that it binds would have to change wherever it is used:
    the project writes `from PACKAGE import MODULE` instead.
    """
    lines = source.splitlines(keepends=True)
    for row, column, name in sorted(_names(ast.parse(source), source, file), reverse=True):
        line = lines[row - 1]
        if not line.startswith(name, column):
            raise BuildError(f"{file}:{row}: expected {name!r} at column {column}")
        lines[row - 1] = f"{line[:column]}{NAMESPACE}.{line[column:]}"
    return "".join(lines)


def _names(tree: ast.Module, source: str, file: str) -> Iterator[tuple[int, int, str]]:
    """Yield (row, column, text) of each name that must be changed. Raise BuildError for a name that
    cannot be renamed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in PACKAGES:
                    raise BuildError(
                        f"{file}:{node.lineno}: `import {alias.name}` cannot be renamed;"
                        " write `from PACKAGE import MODULE`"
                    )
        elif isinstance(node, ast.JoinedStr) and _begins_with_a_package(node):
            raise BuildError(
                f"{file}:{node.lineno}: an f-string with the name of a module cannot be renamed;"
                ' write f"{__name__}.{…}"'
            )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module = node.module or ""
            if module.partition(".")[0] in PACKAGES:
                yield node.lineno, node.col_offset + len("from "), module
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING:
            text = token.string.strip("\"'")
            if _MODULE.fullmatch(text):
                yield token.start[0], token.start[1] + token.string.index(text), text


def _begins_with_a_package(node: ast.JoinedStr) -> bool:
    first = node.values[0] if node.values else None
    text = first.value if isinstance(first, ast.Constant) else ""
    return isinstance(text, str) and _PACKAGE.match(text) is not None


def stage(folder: Path) -> None:
    """Arrange the project under `folder` as the wheel has it, with a pyproject.toml to build it.
    Raise BuildError if a name or a setting cannot be changed for the wheel."""
    package = folder / NAMESPACE
    package.mkdir()
    for name in PACKAGES:
        shutil.copytree(ROOT / name, package / name, ignore=_left_out)
    for name in MORE_FILES:
        shutil.copy2(ROOT / name, package / name)
    (package / "__init__.py").write_text('"""Tells you whether a Kafka is a Kafka."""\n')
    (package / "kit.py").write_text(KIT)
    for file in sorted(package.rglob("*.py")):
        shown = str(file.relative_to(package))
        source = file.read_text("utf-8").replace(SET_UP_OF_CHECKOUT, SET_UP_OF_WHEEL)
        file.write_text(renamed(source, shown), "utf-8")
    for name in ("README.md", "LICENSE"):
        shutil.copy2(ROOT / name, folder / name)
    (folder / "pyproject.toml").write_text(_settings_of_wheel(), "utf-8")


def _left_out(folder: str, names: list[str]) -> set[str]:
    """Return the names that shutil.copytree must leave out of the wheel: tests (conformance cases
    are not among them, since users run them), caches, READMEs, and the folders of ci that only a
    checkout uses."""
    ignored = shutil.ignore_patterns(*IGNORED)(folder, names)
    left_out = FOR_THE_CHECKOUT if Path(folder) == ROOT / "ci" else frozenset()
    return ignored | ({"tests", *left_out} & set(names))


def _settings_of_wheel() -> str:
    """Return pyproject.toml for the arranged tree. Raise BuildError if an expected line is
    missing."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    for line, instead in _SETTINGS.items():
        if line not in text:
            raise BuildError(f"pyproject.toml has no {line!r} any more; adapt {__file__}")
        text = text.replace(line, instead)
    return text


@contextmanager
def _staged() -> Iterator[None]:
    """Arrange the tree in a temporary folder, which is the working directory inside the `with`
    block."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="touchstone-wheel-") as folder:
        stage(Path(folder))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


# --- what pip calls (PEP 517, PEP 660) ----------------------------------------------------------

build_editable = build_meta.build_editable
build_sdist = build_meta.build_sdist
get_requires_for_build_editable = build_meta.get_requires_for_build_editable
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
get_requires_for_build_wheel = build_meta.get_requires_for_build_wheel
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel into `wheel_directory` and return its file name (PEP 517)."""
    directory = str(Path(wheel_directory).resolve())
    with _staged():
        return str(build_meta.build_wheel(directory, config_settings, None))
