"""Every package that the code imports is asked for in requirements.in.

What merely happens to be installed beside it is missing on the next machine.
"""

import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from ci.checks.imports import imported_modules
from ci.checks.sources import PACKAGES, python_files

OWN = {*PACKAGES, "conftest"}


def requirements(root: Path) -> set[str]:
    """Return the distributions of requirements.in, in the index's normal form."""
    path = root / "requirements.in"
    text = path.read_text() if path.is_file() else ""
    return {normal(name) for name in re.findall(r"^([\w.-]+)", text, re.MULTILINE)}


def normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def dependency_violations(root: Path) -> list[str]:
    """Return a sentence for every import that nothing in requirements.in brings."""
    asked_for, brings = requirements(root), packages_distributions()
    sentences = []
    for path in python_files(root):
        for line, module in imported_modules(root, path):
            top_level = module.partition(".")[0]
            if top_level in sys.stdlib_module_names or top_level in OWN:
                continue
            if not {normal(name) for name in brings.get(top_level, [top_level])} & asked_for:
                sentences.append(
                    f"{path.relative_to(root)}:{line}: nothing in requirements.in brings"
                    f" {top_level}; add it and run `make lock`, or do without"
                )
    return sentences
