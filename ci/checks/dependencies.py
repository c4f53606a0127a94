"""Require requirements.in to list every package that the code imports, and no package that nothing
uses.

A package that happens to be installed as a dependency of another may be missing on the next
machine.
"""

import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from ci.checks.imports import imported_modules
from ci.checks.sources import PACKAGES, python_files

OWN = {*PACKAGES, "conftest"}
NEWER_STANDARD = {"compression"}
"""Modules of the standard library that came with Python 3.14. The code imports them only if they
exist."""
NOT_IMPORTED = {
    "mypy": "ci.checks runs it",
    "pandas-stubs": "types for mypy",
    "pytest-timeout": "a plugin of pytest",
    "pytest-xdist": "a plugin of pytest",
    "python-snappy": "kafka-python looks for it",
    "ruff": "ci.checks runs it",
    "types-pyyaml": "types for mypy",
}
"""Requirements that no module imports, with the reason to keep each."""


def requirements(root: Path) -> set[str]:
    """Return the distributions that requirements.in lists, with normalised names, or none if the
    file is missing."""
    path = root / "requirements.in"
    text = path.read_text() if path.is_file() else ""
    return {normal(name) for name in re.findall(r"^([\w.-]+)", text, re.MULTILINE)}


def normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def dependency_violations(root: Path) -> list[str]:
    """Return a sentence for every import that no distribution in requirements.in provides, and for
    every requirement that nothing uses."""
    asked_for, brings = requirements(root), packages_distributions()
    own = sys.stdlib_module_names | OWN | NEWER_STANDARD
    unused = asked_for - NOT_IMPORTED.keys()
    sentences = []
    for path in python_files(root):
        for line, module in imported_modules(root, path):
            top_level = module.partition(".")[0]
            if top_level in own:
                continue
            bringing = {normal(name) for name in brings.get(top_level, [top_level])}
            unused -= bringing
            if not bringing & asked_for:
                sentences.append(
                    f"{path.relative_to(root)}:{line}: nothing in requirements.in brings"
                    f" {top_level}; add it and run `make lock`, or do without"
                )
    sentences += [
        f"requirements.in: no module imports {name}; remove it and run `make lock`"
        for name in sorted(unused)
    ]
    return sentences
