"""Divide the cases among processes (--jobs): which stay together, and which may have no company."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.case import Case
from conformance.reporting.clauses import apis_named
from conformance.session import selection
from conformance.terms import level_of

ALONE = "alone"
"""The unit of the cases that nothing may run beside."""
TOGETHER = "xdist_group"
"""The marker (pytest-xdist's own) of cases that share something costly: one process runs them."""

Versions = Mapping[str, tuple[int, int]]
"""API -> its first and its last version."""


@dataclass(frozen=True)
class Plan:
    """The units of work of an examination, and the order of its report."""

    order: Sequence[str]
    """The node ids of all items, as one job runs them."""
    units: dict[str, str]
    """Node id -> the unit of work that contains it; one process runs all of a unit."""
    cases: int
    """The number of items that are cases."""
    advertised: Versions
    """The versions that the target advertises."""

    def save(self, path: Path) -> None:
        """Write the plan, so that `read` never finds a part of it."""
        beside = path.with_suffix(".part")
        beside.write_text(
            json.dumps([self.order, self.units, self.cases, self.advertised]), encoding="utf-8"
        )
        beside.replace(path)

    @staticmethod
    def read(path: Path) -> Plan:
        """Return the plan that `save` wrote. Raise OSError if there is none."""
        return Plan(*json.loads(path.read_text(encoding="utf-8")))


def planned(
    items: list[pytest.Item], advertised: Versions, *, is_shared: bool, by_size: bool
) -> Plan:
    """Return the plan for these items, which are in the order of one job, and put them into the
    order in which they are handed out: what must have no company comes last.

    is_shared: whether all processes examine one and the same cluster, so that a case may need to be
    alone. Each has an instance of the target of its own otherwise. by_size: whether the largest
    units come first, so that no process is left with one at the end, and then, of each priority,
    cases that restart the target. Otherwise the order is that of one job, which is better if the
    time may not suffice for all.
    """
    units = {item.nodeid: unit_of(item, is_shared=is_shared) for item in items}
    order = [item.nodeid for item in items]
    if by_size:
        sizes = Counter(units.values())
        items.sort(key=lambda item: _rank(item, sizes[units[item.nodeid]], units[item.nodeid]))
    items.sort(key=lambda item: units[item.nodeid] == ALONE)
    cases = sum(selection.case_in(item) is not None for item in items)
    return Plan(order, units, cases, advertised)


def _rank(item: pytest.Item, size: int, unit: str) -> tuple[int, str, str, bool]:
    """Return the sort key of an item by the size of its unit."""
    stated = selection.case_in(item)
    if size > 1 or stated is None:
        return -size, unit, "", False
    return -size, "", stated.priority, "restart" not in stated.requires


def unit_of(item: pytest.Item, *, is_shared: bool) -> str:
    """Return the unit of an item: that of all cases that need to be alone, of all with the same
    settings, since these share a second instance, of all with the same marker, or one of its
    own."""
    stated = selection.case_in(item)
    if stated is None:
        return item.nodeid
    if is_shared and needs_no_company(stated, item):
        return ALONE
    if stated.config:
        return f"settings {selection.settings_of(stated)}"
    if (marker := item.get_closest_marker(TOGETHER)) is not None:
        return f"together {marker.args[0]}"
    return item.nodeid


def needs_no_company(stated: Case, item: pytest.Item) -> bool:
    """Return whether a case on a cluster that all processes share must be alone: it may end the
    target, or its code names an API of the level "admin", by which it may change what the cluster
    does, or what others see of it.

    All others read, or use only topics, groups and transactions of their own: they are also right
    beside other clients, which a cluster that was not started here may have at any time.
    """
    if item.path.stem in selection.HARMFUL or "restart" in stated.requires:
        return True
    apis = {stated.api, *apis_named(getattr(item, "function"))}  # noqa: B009 - Item has none
    return any(level_of(api) == "admin" for api in apis)
