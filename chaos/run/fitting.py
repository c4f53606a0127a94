"""Find workloads and nemeses by name, and refuse combinations that cannot be performed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from chaos.clients.factories import CONFLUENT, REFERENCE
from chaos.nemeses import NEMESES
from chaos.record.run_directory import Scenario
from chaos.targets import parse_target
from chaos.values.protocols import Nemesis, Target, TargetError, Workload
from chaos.workloads import WORKLOADS

T = TypeVar("T")
COORDINATED = {"kill-group-coordinator": "groups", "kill-transaction-coordinator": "transactions"}
"""Nemesis that kills a coordinator -> the things that are coordinated, as a plural noun for
messages."""
COMMIT_WITHOUT_MEMBERS = frozenset({"offsets", "offsets-transactions"})
"""Workloads whose groups have offsets but no members. Their groups have a coordinator all the
same."""
BACKENDS = ("docker", "netns")
"""The prefixes of targets that run in containers, or in network namespaces of their own."""


@dataclass(frozen=True)
class Parts:
    """The target, workload and nemesis of a run."""

    target: Target
    workload: Workload
    nemesis: Nemesis

    @classmethod
    def of(cls, scenario: Scenario) -> Parts:
        """Return the parts that a scenario names. Raise TargetError for an unknown name, with the
        nearest known one."""
        return cls(
            parse_target(scenario.target, scenario.bug),
            workload_named(scenario.workload),
            nemesis_named(scenario.nemesis),
        )


def workload_named(name: str) -> Workload:
    """Return the workload of that name. Raise TargetError, which lists the known names, for another
    name."""
    return _named("workload", name, WORKLOADS)


def nemesis_named(name: str) -> Nemesis:
    """Return the nemesis of that name. Raise TargetError, which lists the known names, for another
    name."""
    return _named("nemesis", name, NEMESES)


def _named(kind: str, name: str, table: Mapping[str, T]) -> T:
    if name in table:
        return table[name]
    nearest = difflib.get_close_matches(name, table, n=1, cutoff=0.4)
    hint = f" (did you mean {nearest[0]!r}?)" if nearest else ""
    raise TargetError(f"unknown {kind} {name!r}{hint}; use one of {', '.join(table)}")


def family_of(target: str) -> str:
    """Return the family of a target: "apache" for "apache:4.3.1" and for "docker:apache:4.3.1"."""
    first, _, rest = target.partition(":")
    return family_of(rest) if first in BACKENDS and rest else first


def able(target: Target, nemesis: Nemesis) -> bool:
    """Return whether this target can perform every fault of this nemesis."""
    return nemesis.faults <= target.faults


def check_fit(target: Target, workload: Workload, nemesis: Nemesis, nodes: int) -> None:
    """Raise TargetError for a combination that cannot be performed, or whose run would show
    nothing."""
    check_able(target, nemesis, nodes)
    check_nodes("workload", workload, nodes)
    check_somebody_to_strike(workload, nemesis)


def check_able(target: Target, nemesis: Nemesis, nodes: int) -> None:
    """Raise TargetError for a nemesis whose faults this target cannot perform, or which would
    strike nothing."""
    if missing := sorted(fault.__name__ for fault in nemesis.faults - target.faults):
        able = ", ".join(sorted(f.__name__ for f in target.faults)) or "nothing"
        raise TargetError(
            f"target {target.name!r} cannot {', '.join(missing)} (needed by nemesis"
            f" {nemesis.name}); it can: {able}; `touchstone chaos list` shows which target can what"
        )
    check_nodes("nemesis", nemesis, nodes)


def check_nodes(kind: str, wanted: Nemesis | Workload, nodes: int) -> None:
    """Raise TargetError if the workload or nemesis would show nothing with so few nodes."""
    if nodes < wanted.nodes_min:
        raise TargetError(
            f"{kind} {wanted.name} needs at least {wanted.nodes_min} nodes, not {nodes};"
            f" give --nodes {max(3, wanted.nodes_min)}"
        )


def check_somebody_to_strike(workload: Workload, nemesis: Nemesis) -> None:
    """Raise TargetError if the nemesis kills the coordinator of groups or transactions that the
    workload does not have."""
    has = {"groups": has_groups(workload), "transactions": is_transactional(workload)}
    what = COORDINATED.get(nemesis.name)
    if what is not None and not has[what]:
        raise TargetError(
            f"workload {workload.name} has no {what}, so nemesis {nemesis.name} finds no"
            " coordinator to kill; choose another workload or nemesis"
        )


def has_groups(workload: Workload) -> bool:
    """Return whether any process of the workload uses a group coordinator."""
    settings = map(workload.settings, range(workload.processes))
    return workload.name in COMMIT_WITHOUT_MEMBERS or any(one.group for one in settings)


def is_transactional(workload: Workload) -> bool:
    """Return whether any process of the workload uses a transaction coordinator."""
    return any(workload.settings(process).transactional for process in range(workload.processes))


def client_in_virtual_time(scenario: Scenario) -> str:
    """Return the name of the reference client, the only one that needs no threads and sockets.
    Raise TargetError if the scenario names neither that one nor the default (confluent)."""
    if scenario.client not in (CONFLUENT, REFERENCE):
        raise TargetError(
            f"--client {scenario.client} cannot run in the virtual time of target"
            f" {scenario.target}; use --client {REFERENCE}"
        )
    return REFERENCE
