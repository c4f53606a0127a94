"""The house rules that a program can hold us to: `python -m ci.checks`, run by `make check`.

Each check is one file with one function from the root of a tree to sentences, a sentence for every
violation, so that a test can plant one in a small tree and see it named.
"""

from collections.abc import Callable
from pathlib import Path

from ci.checks.citations import citation_violations
from ci.checks.imports import import_violations
from ci.checks.leaks import leak_violations
from ci.checks.registries import registry_violations
from ci.checks.sizes import size_violations

CHECKS: dict[str, Callable[[Path], list[str]]] = {
    "imports": import_violations,
    "registries": registry_violations,
    "sizes": size_violations,
    "leaks": leak_violations,
    "citations": citation_violations,
}
