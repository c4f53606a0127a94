"""The rules of the project that a program can check: `python -m ci.checks`, run by `make check`.

Each check is one file with one function that takes the root of a source tree and returns one
sentence per violation, so that a test can plant a violation in a small tree and expect its
sentence.
"""

from collections.abc import Callable
from pathlib import Path

from ci.checks.cases import case_violations
from ci.checks.circles import circle_violations
from ci.checks.citations import citation_violations
from ci.checks.dependencies import dependency_violations
from ci.checks.diagrams import diagram_violations
from ci.checks.formatting import formatting_violations
from ci.checks.guarantees import guarantee_violations
from ci.checks.imports import import_violations
from ci.checks.leaks import leak_violations
from ci.checks.loops import loop_violations
from ci.checks.loose_files import loose_file_violations
from ci.checks.parameters import parameter_violations
from ci.checks.prose import prose_violations
from ci.checks.registries import registry_violations
from ci.checks.rules import rule_violations
from ci.checks.sizes import size_violations
from ci.checks.sources import PACKAGES

CHECKS: dict[str, Callable[[Path], list[str]]] = {
    "imports": import_violations,
    "circles": circle_violations,
    "loose files": loose_file_violations,
    "registries": registry_violations,
    "rules": rule_violations,
    "sizes": size_violations,
    "parameters": parameter_violations,
    "dependencies": dependency_violations,
    "leaks": leak_violations,
    "diagrams": diagram_violations,
    "guarantees": guarantee_violations,
    "citations": citation_violations,
    "cases": case_violations,
    "loops": loop_violations,
    "prose": prose_violations,
    "formatting": formatting_violations,
}

TOOLS: dict[str, list[str]] = {
    "ruff": ["ruff", "check", "--quiet", "conftest.py", *PACKAGES],
    "format": ["ruff", "format", "--quiet", "--check", "conftest.py", *PACKAGES],
    "mypy": ["mypy", "--no-error-summary", "conftest.py", *PACKAGES],
}
"""Name of a check -> the module and arguments to run with `python -m`. The tools' settings are in
pyproject.toml."""
