"""The faults of a run as spans of time, as reports and explanations show them.

Times are seconds since the first invocation of the run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from linearizability.bounds import NANOSECONDS
from linearizability.excuses.faults import HEAL, IS_FAULT


@dataclass(frozen=True)
class Fault:
    """A fault from the time when it was requested until the end of its heal, or until the end of
    the run if it was not healed."""

    name: str
    nodes: tuple[int, ...]
    start_s: float
    end_s: float
    is_healed: bool
    note: str

    @property
    def label(self) -> str:
        """The name of the fault, with the nodes that it affected."""
        where = f" node {', '.join(map(str, self.nodes))}" if self.nodes else ""
        return self.name + where


def fault_spans(rows: pl.LazyFrame, start_ns: int, end_ns: int) -> list[Fault]:
    """Return every fault with the heal that ended it (a Heal ends all faults in progress), in the
    order of the heals. start_ns, end_ns: when the run began and ended; a fault without a heal lasts
    until the end."""

    def at(name: str) -> pl.Expr:
        return (pl.col(name) - start_ns) / NANOSECONDS

    found = (
        rows.filter(IS_FAULT)
        .select(
            at("t_invoke_ns").alias("start"), at("t_complete_ns").alias("end"), "detail", "node"
        )
        .sort("start")
        .collect()
    )
    done: list[Fault] = []
    under_way: list[tuple[dict[str, Any], float]] = []
    for start, end, detail, node in found.iter_rows():
        what = _fault(detail, node)
        if what["fault"] == HEAL:
            healed = start if end is None else end
            done += [_ended(fault, since, healed, True) for fault, since in under_way]
            under_way = []
        else:
            under_way.append((what, start))
    end_s = max((end_ns - start_ns) / NANOSECONDS, 0.001)
    return done + [_ended(fault, since, end_s, False) for fault, since in under_way]


def overlapping(faults: Sequence[Fault]) -> list[list[Fault]]:
    """Return the faults in groups, in the order of their beginnings; faults of different groups do
    not overlap in time."""
    groups: list[list[Fault]] = []
    for fault in sorted(faults, key=lambda fault: fault.start_s):
        if groups and fault.start_s <= max(each.end_s for each in groups[-1]):
            groups[-1].append(fault)
        else:
            groups.append([fault])
    return groups


def _fault(detail: str | None, node: int | None) -> dict[str, Any]:
    try:
        what = json.loads(detail or "")
    except ValueError:
        what = None
    if not isinstance(what, dict) or "fault" not in what:
        what = {"fault": detail or "fault without a name"}
    what.setdefault("nodes", [node] if node is not None else [])
    return what


def _ended(what: dict[str, Any], start: float, end: float, is_healed: bool) -> Fault:
    known = {"fault", "nodes", "note", "node"}
    more = [f"{key} {value}" for key, value in what.items() if key not in known]
    if what.get("note"):
        more.insert(0, str(what["note"]))
    if isinstance(what.get("node"), str):
        more.insert(0, f"aimed at: {what['node']}")
    told = what["nodes"] if isinstance(what["nodes"], list) else []
    nodes = tuple(node for node in told if isinstance(node, int))
    return Fault(str(what["fault"]), nodes, start, end, is_healed, "; ".join(more))
