"""List the cases by area and by API, and the APIs of Kafka without a case: `touchstone conform
list`."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from textwrap import wrap
from types import FunctionType, ModuleType
from typing import Literal

from conformance import cases as all_folders
from conformance.case import Case, case_of
from conformance.reporting.catalogue import WITHOUT_CASE, ids_without_case
from conformance.target.examination import CAMEL
from reference_impl.wire import ApiKey, api_keys, request_definition

Form = Literal["text", "markdown", "json"]
AREAS = {
    "WIRE": "Framing, headers, malformed requests",
    "APIV": "ApiVersions negotiation",
    "META": "Metadata, DescribeCluster, DescribeTopicPartitions",
    "ADMIN": "CreateTopics, DeleteTopics, CreatePartitions",
    "CONF": "Configurations",
    "PROD": "Produce: acks, errors, routing",
    "BATCH": "Record batches: validation and storage",
    "IDEM": "Idempotent producer",
    "TXN": "Transactions",
    "FETCH": "Fetch",
    "LIST": "ListOffsets, OffsetForLeaderEpoch, DeleteRecords",
    "GRPC": "Classic consumer groups",
    "GRP8": "Consumer groups of KIP-848",
    "OFFS": "Committed offsets; describing, listing, deleting groups",
    "SHARE": "Share groups",
    "LOG": "Retention, compaction, segments, timestamps",
    "REPL": "Replication, leadership, cluster administration",
    "KRFT": "KRaft",
    "SEC": "SASL, ACLs, delegation tokens",
    "QUOT": "Quotas, telemetry",
    "STRM": "Streams groups",
    "GUAR": "Guarantees that clients see",
}
"""Area, the first part of a case's id -> what it is about; the order of the listing."""
OF_PLUGINS = "Cases of a plugin"
FOLDERS = [all_folders]
"""The packages with cases: those of Touchstone, and those that plugins add."""


@dataclass(frozen=True)
class Listed:
    """One case function, and the file that contains it."""

    case: Case
    file: str
    function: FunctionType = field(repr=False, compare=False)

    @property
    def sentence(self) -> str:
        """The name of the case's function as a sentence."""
        return self.case.function.removeprefix("test_").replace("_", " ")

    @property
    def versions(self) -> str:
        """The versions, such as "v3-13", that the case states, as far as the API has them, or all
        versions of the API if it states none."""
        low, high = self.case.versions or (0, 1 << 15)
        valid = _valid_versions(self.case.api)
        low, high = max(low, valid[0]), min(high, valid[-1])
        return f"v{low}" if low == high else f"v{low}-{high}"


def all_cases() -> list[Listed]:
    """Import all modules of cases, and return every case, ordered by area, id and name."""
    found = [listed for module in _modules() for listed in cases_of(module)]
    areas = {area: place for place, area in enumerate(AREAS)}
    return sorted(
        found, key=lambda c: (areas.get(c.case.area, len(areas)), c.case.id, c.case.function)
    )


def _modules() -> Iterator[ModuleType]:
    for folder in FOLDERS:
        yield from modules_of(folder)


def modules_of(folder: ModuleType) -> Iterator[ModuleType]:
    """Yield the modules test_… of a package of cases, imported, or a single module itself."""
    if not hasattr(folder, "__path__"):
        yield folder
        return
    for module in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
        if module.name.rpartition(".")[2].startswith("test_"):
            yield importlib.import_module(module.name)


def cases_of(module: ModuleType) -> Iterator[Listed]:
    """Yield the cases that a module defines."""
    for value in vars(module).values():
        stated = case_of(value)
        if stated is not None and value.__module__ == module.__name__:
            yield Listed(stated, module.__name__.replace(".", "/") + ".py", value)


def _valid_versions(api: str) -> range:
    key = next(key for key, name in CAMEL.items() if name == api)
    return request_definition(int(key)).stable_versions


def apis_without_cases(cases: Sequence[Listed]) -> list[str]:
    """Return the APIs of Kafka without a case, in the order of their keys."""
    covered = {listed.case.api for listed in cases}
    return [CAMEL[ApiKey(key)] for key in api_keys() if CAMEL[ApiKey(key)] not in covered]


def list_cases(form: Form = "text") -> str:
    """Return all cases as text, as Markdown or as JSON."""
    cases = all_cases()
    return {"text": _as_text, "markdown": _as_markdown, "json": _as_json}[form](cases)


def _by_area(cases: Sequence[Listed]) -> Mapping[str, list[Listed]]:
    areas: dict[str, list[Listed]] = defaultdict(list)
    for listed in cases:
        areas[listed.case.area].append(listed)
    return areas


def _by_api(cases: Sequence[Listed]) -> Mapping[str, list[Listed]]:
    """Group cases by API, in the order of the API keys; leave out APIs without cases."""
    apis: dict[str, list[Listed]] = {name: [] for _, name in sorted(CAMEL.items())}
    for listed in cases:
        apis[listed.case.api].append(listed)
    return {name: found for name, found in apis.items() if found}


def _total(cases: Sequence[Listed]) -> str:
    ids = {listed.case.id for listed in cases}
    first = {listed.case.id for listed in cases if listed.case.priority == "P0"}
    missing = [f"{id} ({WITHOUT_CASE.get(id, 'not written')})" for id in ids_without_case(ids)]
    without = f"without a case: {', '.join(missing)}" if missing else "no id is without a case"
    return (
        f"{len(cases)} functions for {len(ids)} cases of the catalogue, {len(first)} of them P0; "
        f"{without}"
    )


def _as_text(cases: Sequence[Listed]) -> str:
    lines: list[str] = []
    for area, found in _by_area(cases).items():
        lines += [f"{area}  {AREAS.get(area, OF_PLUGINS)}"]
        lines += [
            f"  {c.case.id:<9} {c.case.priority}  {c.case.api} {c.versions}: {c.sentence}"
            for c in found
        ]
    missing = "APIs without cases: " + ", ".join(apis_without_cases(cases))
    lines += ["", *wrap(missing, 100), "", _total(cases)]
    return "\n".join(lines)


def _as_markdown(cases: Sequence[Listed]) -> str:
    lines = ["| case | priority | API | requirement | spec |", "|---|---|---|---|---|"]
    lines += [
        f"| {c.case.id} | {c.case.priority} | {c.case.api} {c.versions} | "
        f"{_cell(c.case.requirement)} | {_cell(c.case.spec)} |"
        for c in cases
    ]
    lines += ["", "| API | cases |", "|---|---|"]
    for api, found in _by_api(cases).items():
        lines.append(f"| {api} | {', '.join(sorted({c.case.id for c in found}))} |")
    lines += [f"| {api} | none |" for api in apis_without_cases(cases)]
    return "\n".join([*lines, "", _total(cases) + "."])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _as_json(cases: Sequence[Listed]) -> str:
    entries = [
        {
            **asdict(listed.case),
            "requires": sorted(listed.case.requires),
            "area": listed.case.area,
            "file": listed.file,
        }
        for listed in cases
    ]
    return json.dumps({"cases": entries, "apis_without_cases": apis_without_cases(cases)}, indent=2)
