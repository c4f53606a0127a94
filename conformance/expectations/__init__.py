"""The known deviations of targets that Touchstone starts: one TOML file for each, in the form of a
baseline (conformance/reporting/baseline.py). `touchstone conform` applies a target's file unless
--baseline names another one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chaos.targets import zookeeper
from chaos.targets.apache import DEFAULT_VERSION, VERSIONS
from conformance.reporting.baseline import Difference, difference, read_baseline

HOME = Path(__file__).parent
WAYS = ("docker:", "netns:")
"""The prefixes of targets that start the same software in another way."""


def file_of(target: str) -> Path | None:
    """Return the file with the known deviations of a target, such as "docker:apache:4.3.1", or None
    if it has none. An Apache Kafka without a version is the default one."""
    for way in WAYS:
        target = target.removeprefix(way)
    name, _, version = target.partition(":")
    if name == "apache":
        version = (VERSIONS | zookeeper.VERSIONS).get(version or DEFAULT_VERSION, version)
    path = HOME / f"{name}-{version}.toml"
    return path if path.is_file() else None


def difference_from_expected(results: Mapping[str, Any]) -> Difference | None:
    """Return how an examination differs from what is known about its target. Return None if nothing
    is known about it, or if none of its known deviations occurred or is mended."""
    file = file_of(str(results["target"]))
    if file is None:
        return None
    found = difference(results, read_baseline(file), f"conformance/expectations/{file.name}")
    return found if found.known or found.mended else None
