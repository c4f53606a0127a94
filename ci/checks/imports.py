"""Enforce a table of allowed imports; the simulator may not import sockets, for example, nor a
checker the cluster. A row names a part of the project (a module or package; the longest prefix
wins) and what it may import besides itself. Tests may import anything, but only those of ci may
import ci; ci, the composition root, may import anything but tests."""

import ast
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from ci.checks.sources import PACKAGES, is_test, module_name, parsed, python_files

HERE = "ci/checks/imports.py"

IN_VIRTUAL_TIME = (
    "chaos.world",
    "chaos.values",
    "chaos.workloads",
    "chaos.nemeses",
    "chaos.means.connection",
    "chaos.record.outcomes",
    "chaos.record.row_makers",
    "chaos.record.rows",
    "chaos.clients.kafka_config",
    "chaos.clients.membership_rows",
    "chaos.clients.payload",
    "chaos.clients.transaction_rows",
    "chaos.clients.whole_partitions",
    "chaos.clients.wire.admin",
    "chaos.clients.wire.attempts",
    "chaos.clients.wire.group_offsets",
    "chaos.clients.wire.operator",
    "chaos.clients.wire.partition_read",
    "chaos.clients.wire.producer_identity",
    "chaos.clients.wire.raw",
    "chaos.clients.wire.raw_producer",
    "chaos.clients.wire.raw_transactions",
    "chaos.clients.wire.strangers",
    "chaos.clients.wire.wire_link",
    "chaos.run.final_phase",
    "chaos.run.first_phase",
    "chaos.run.phases",
    "chaos.run.tasks",
    "chaos.run.variety",
    "chaos.run.workers",
)
"""The modules that also run in the simulator: they may wait only by the World that is passed to
them."""

MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "reference_impl": (),
    "reference_impl.wire": (),
    "reference_impl.access": ("reference_impl.wire",),
    "reference_impl.links": ("reference_impl.wire",),
    "reference_impl.core": ("reference_impl.wire", "reference_impl.links"),
    "reference_impl.client": ("reference_impl.wire", "reference_impl.links"),
    "reference_impl.bugs": (
        "reference_impl.core",
        "reference_impl.client",
        "reference_impl.links",
        "reference_impl.wire",
    ),
    "reference_impl.host": ("reference_impl",),
    "reference_impl.robustness": ("reference_impl",),
    "linearizability": (),
    # The truth of the self-test comes from its model: a judge that is blind would blind its own
    # test. The runner alone asks the judges.
    "linearizability.self_test": ("linearizability.bounds", "linearizability.history"),
    "linearizability.self_test.clauses": (
        "linearizability.guarantees",
        "linearizability.self_test",
    ),
    "linearizability.self_test.runner": ("linearizability",),
    "linearizability.guarantees.*.mutators": (
        "linearizability.bounds",
        "linearizability.history",
        "linearizability.self_test",
    ),
    # A twin that asked its kernel would agree with it.
    "linearizability.guarantees.*.twin": ("linearizability.bounds", "linearizability.twins"),
    "linearizability.twins": ("linearizability.bounds",),
    # The content of a mutated file is known from the mutator, never from a reader under test.
    "linearizability.fuzz": (
        "linearizability.history",
        "linearizability.files.parquet",
        "linearizability.self_test",
    ),
    "linearizability.fuzz.runner": ("linearizability",),
    "chaos": (),
    "chaos.values": (),
    "chaos.world": ("reference_impl.wire",),
    "chaos.means": (
        "chaos.values",
        "chaos.world",
        "linearizability.caches",
        "reference_impl.access",
        "reference_impl.wire",
    ),
    "chaos.record": ("chaos.values", "linearizability.history", "linearizability.files.parquet"),
    "chaos.workloads": ("chaos.values",),
    "chaos.nemeses": ("chaos.values",),
    "chaos.clients": (
        "chaos.values",
        "chaos.world",
        "chaos.means",
        "chaos.record.frequent_lines",
        "chaos.record.outcomes",
        "linearizability.history",
        "reference_impl.access",
        "reference_impl.wire",
        "reference_impl.client",
        "reference_impl.host",
    ),
    "chaos.targets": (
        "chaos.values",
        "chaos.world",
        "chaos.means",
        "chaos.sim",
        "reference_impl.access",
        "reference_impl.host.settings.properties",
        "reference_impl.wire",
    ),
    "chaos.probes": (
        "chaos.values",
        "chaos.world",
        "chaos.means",
        "chaos.clients.wire",
        "chaos.targets",
        "reference_impl.wire",
    ),
    "chaos.sim": (
        *IN_VIRTUAL_TIME,
        "chaos.clients.reference",
        "chaos.record",
        "linearizability",
        "reference_impl.core",
        "reference_impl.client",
        "reference_impl.links",
        "reference_impl.bugs",
        "reference_impl.wire",
    ),
    "chaos.run": (
        "chaos.values",
        "chaos.world",
        "chaos.means.connection",
        "chaos.means.real_world",
        "chaos.record",
        "chaos.clients",
        "chaos.targets",
        "chaos.workloads",
        "chaos.nemeses",
        "reference_impl.access",
    ),
    "chaos.scenarios": (
        "chaos.values",
        "chaos.record",
        "chaos.clients.factories",
        "chaos.targets",
        "chaos.workloads",
        "chaos.nemeses",
        "chaos.run",
        "linearizability",
    ),
    "chaos.listing": ("chaos",),
    "conformance": ("reference_impl.access", "reference_impl.wire", "chaos", "linearizability"),
    "conformance.fuzz": ("conformance", "chaos", "reference_impl"),
    "conformance.vectors": ("conformance", "reference_impl.wire"),
    "ci": PACKAGES,
}

DIVIDED = ("reference_impl", "chaos")
"""Packages whose own row covers only their `__init__`, so that each of their modules needs a row of
its own."""

WITHOUT_WORLD = ("reference_impl.core", "reference_impl.client")
WORLD = {
    *("asyncio", "concurrent", "logging", "multiprocessing", "os", "random", "secrets", "select"),
    *("selectors", "shutil", "signal", "socket", "ssl", "subprocess", "tempfile", "threading"),
    "time",
}
"""The modules that pure state machines may not import, since time and randomness reach them inside
events."""
CHANCE = {"random"}
"""Modules of randomness that code in virtual time may import all the same, for seeded random
streams."""


def part_of(module: str) -> str | None:
    """Return the table row that a module belongs to, the longest that covers it. Return None if
    there is none, or if that is the row of a package whose modules need rows of their own
    (DIVIDED)."""
    rows = [row for row in MAY_IMPORT if covers(row, module)]
    longest = max(rows, key=len, default=None)
    return None if longest in DIVIDED and module != longest else longest


def covers(prefix: str, module: str) -> bool:
    """Return whether the module is `prefix` or lies below it. A `*` in the prefix stands for any
    name."""
    return fnmatchcase(module, prefix) or fnmatchcase(module, prefix + ".*")


def imported_modules(root: Path, path: Path) -> list[tuple[int, str]]:
    """Return (line, module) for every import in a file, with relative imports resolved."""
    return _imported_modules(root, path, path.stat().st_mtime_ns)


@cache  # three checks call this, and parsing takes most of their time
def _imported_modules(root: Path, path: Path, modified_ns: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    package = module_name(root, path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            for alias in node.names:  # `from chaos import values` imports a module, not a name
                inner = root.joinpath(*origin.split("."), alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                found.append((node.lineno, f"{origin}.{alias.name}" if is_module else origin))
    return found


def violation(module: str, imported: str, in_test: bool) -> str | None:
    """Return a sentence that says why this import is not allowed, or None if it is."""
    if in_test and not covers("ci", module):
        return f"only ci may import ci, yet {module} does" if part_of(imported) == "ci" else None
    if ".tests" in imported and not in_test:
        return f"what users run imports no test, yet {module} imports {imported}"
    own = part_of(module) or module
    top_level = imported.partition(".")[0]
    if top_level not in PACKAGES:
        if top_level in WORLD and own in WITHOUT_WORLD:
            return f"{own} gets time, chance and files from its host, yet imports {imported}"
        if top_level in WORLD - CHANCE and any(covers(each, module) for each in IN_VIRTUAL_TIME):
            return f"{module} must run in virtual time, too (chaos.world), yet imports {imported}"
        return None
    if part_of(imported) == own:
        return None
    if any(covers(allowed, imported) for allowed in MAY_IMPORT[own]):
        return None
    allowed = ", ".join(MAY_IMPORT[own]) or "nothing"
    return f"{own} may import {allowed} and itself, yet imports {imported}"


def import_violations(root: Path) -> list[str]:
    """Return a sentence, once, for every import that the table does not allow, and for every module
    that is in no row."""
    sentences = []
    for path in python_files(root):
        module, in_test = module_name(root, path), is_test(path, root)
        if part_of(module) is None and not in_test:
            sentences.append(f"{module} is in no row of the import table; add one to {HERE}")
            continue
        for line, imported in imported_modules(root, path):
            why = violation(module, imported, in_test)
            if why is not None:
                sentences.append(f"{path.relative_to(root)}:{line}: {why}")
    return list(dict.fromkeys(sentences))
