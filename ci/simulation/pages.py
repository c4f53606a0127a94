"""The output of `touchstone sim`: one line for each finding, then counts and the coverage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from chaos.record.shown import Sight
from ci.simulation.plans import SETTINGS, SHAPES, nemeses, workloads
from ci.simulation.schedule import Outcome
from ci.simulation.search import Search
from linearizability.verdict import Validity

NEVER = "never"


def finding(outcome: Outcome) -> str:
    """Return the paragraph about a schedule that is not valid: its seed, reason, command and
    blame."""
    lines = [
        f"{outcome.validity.value.upper()} seed {outcome.seed}"
        f" ({outcome.workload}, {outcome.nemesis}): {outcome.reason}",
        f"    repeat:  {outcome.command}",
    ]
    if outcome.blamed:
        why = f": it {outcome.claims[0]}" if outcome.claims else ""
        lines.append(f"    blamed:  the {outcome.blamed}{why}")
    if outcome.kept:
        lines.append(f"    history: {outcome.kept}")
    return "\n".join(lines)


def summary(search: Search) -> str:
    """Return the counts, the medians and the coverage, as text."""
    outcomes = list(search.outcomes.values())
    return "\n".join([*_counts(search, outcomes), *_coverage_lines(coverage(outcomes))])


def _counts(search: Search, outcomes: Sequence[Outcome]) -> list[str]:
    endings = Counter(one.validity for one in outcomes)
    invalid, valid = endings[Validity.INVALID], endings[Validity.VALID]
    unknown = len(outcomes) - valid - invalid
    rate = len(outcomes) / search.took_s * 60 if search.took_s else 0.0
    share = unknown / len(outcomes) if outcomes else 0.0
    lines = [
        f"{len(outcomes):,} of {search.seeds:,} schedules: {valid:,} valid, {unknown:,} unknown"
        f" ({share:.1%}), {invalid:,} invalid; {search.took_s:.0f} s,"
        f" {rate:.0f} a minute with --jobs {search.jobs}"
    ]
    if len(outcomes) < search.seeds:
        rest = min(set(_every_seed(search)) - search.outcomes.keys())
        lines.append(f"not all schedules were performed; go on with --first-seed {rest}")
    if outcomes:
        lines.append(
            "median schedule: "
            f"{median(o.acknowledged for o in outcomes):,.0f} records acknowledged,"
            f" {median(o.decided for o in outcomes):,.0f} transactions decided,"
            f" {median(sum(o.struck.values()) for o in outcomes):,.0f} faults and heals;"
            f" memory of a process at most {max(o.memory_mib for o in outcomes):,.0f} MiB"
        )
    return lines


def _every_seed(search: Search) -> range:
    return range(search.first_seed, search.first_seed + search.seeds)


# --- coverage -------------------------------------------------------------------------------------


def coverage(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    """Return subject (such as "workload") -> name -> the number of schedules in which it occurred.
    A 0 is a gap."""

    def counted(names: Iterable[str], of: Callable[[Outcome], Iterable[str]]) -> dict[str, int]:
        found = Counter(name for one in outcomes for name in set(of(one)))
        return {name: found[name] for name in sorted(names)}

    works = workloads()
    every = {nemesis.name: nemesis for work in works for nemesis in nemeses(work)}
    offered = {fault.__name__ for nemesis in every.values() for fault in nemesis.faults}
    return {
        "fault that struck": counted(offered, lambda one: one.struck),
        "shape": counted(
            (f"{target} with {nodes}" for target, nodes in SHAPES), lambda one: [one.shape]
        ),
        "workload": counted((one.name for one in works), lambda one: [one.workload]),
        "nemesis": counted(every, lambda one: [one.nemesis]),
        "setting drawn": counted(SETTINGS, lambda one: one.settings),
        "seen in the history": counted((s.value for s in Sight), lambda one: one.shown),
    }


def _coverage_lines(covered: Mapping[str, Mapping[str, int]]) -> list[str]:
    lines = ["", "coverage, in schedules:"]
    for subject, found in covered.items():
        gaps = [name for name, count in found.items() if not count]
        told = ", ".join(f"{name} {count:,}" for name, count in found.items() if count)
        lines.append(f"  {subject}: {told or NEVER}")
        if gaps:
            lines.append(f"    {NEVER}: {', '.join(gaps)}")
    return lines


def as_json(search: Search) -> str:
    """Return the whole search as JSON."""
    outcomes = [search.outcomes[seed] for seed in sorted(search.outcomes)]
    told: dict[str, Any] = {
        "first_seed": search.first_seed,
        "seeds": search.seeds,
        "jobs": search.jobs,
        "seconds": round(search.took_s, 1),
        "coverage": coverage(outcomes),
        "schedules": [one.as_dict() for one in outcomes],
    }
    return json.dumps(told, indent=2)
