"""Decide which scenarios can run on this machine, and with how many nodes and seconds."""

from __future__ import annotations

from chaos.clients.factories import check_groups
from chaos.nemeses import NEMESES
from chaos.record.run_directory import Scenario
from chaos.run.first_phase import SWEEP_OF_TRANSACTIONS
from chaos.run.fitting import check_fit, family_of, is_transactional
from chaos.targets import parse_target
from chaos.targets.clusters import equipment
from chaos.values.able_targets import RunningTarget, SizedTarget
from chaos.values.fault_kinds import POWER_FAULTS
from chaos.values.faults import Kill
from chaos.values.protocols import TargetError
from chaos.workloads import WORKLOADS

SECONDS = {"apache": 25.0}
SECONDS_ELSEWHERE = 15.0
"""The length of the attack in seconds on targets that start fast: it gives several rounds of every
nemesis. (A node of Apache Kafka alone takes seconds to start.)"""

IN_MEMORY = ("kfake",)
"""Families whose nodes keep everything in memory. Killing one loses everything, as is known."""
WITHOUT_TRANSACTIONS = ("kfake",)


def nodes_of(target: str) -> int:
    """Return the number of nodes of a scenario's cluster: the target's own if it is fixed, 3 for
    Apache Kafka, else 1. Raise TargetError for an unknown target."""
    chosen = parse_target(target)
    if isinstance(chosen, SizedTarget):
        return chosen.nodes
    return 3 if family_of(target) == "apache" else 1


def seconds_of(target: str) -> float:
    """Return the default length of the attack, in seconds."""
    return SECONDS.get(family_of(target), SECONDS_ELSEWHERE)


def why_not(scenario: Scenario) -> str | None:
    """Return why a scenario cannot be run on this machine or would show nothing, or None. Raise
    TargetError for an unknown target or bug."""
    family = family_of(scenario.target)
    workload, nemesis = WORKLOADS.get(scenario.workload), NEMESES.get(scenario.nemesis)
    if workload is None or nemesis is None:
        return f"there is no workload {scenario.workload} or no nemesis {scenario.nemesis}"
    target = parse_target(scenario.target, scenario.bug)
    wanted = {*workload.config, *scenario.config} - {SWEEP_OF_TRANSACTIONS}
    if isinstance(target, RunningTarget) and wanted:
        return (
            f"{scenario.target} is configured by its owner, but this scenario needs broker settings"
        )
    try:
        check_fit(target, workload, nemesis, scenario.nodes)
        check_groups(scenario.client, workload)
    except TargetError as error:
        return str(error)
    if reason := equipment.why_not(parse_target(scenario.target, scenario.bug), nemesis.faults):
        return reason
    if family in IN_MEMORY and nemesis.faults & {Kill, *POWER_FAULTS}:
        return f"{family} keeps everything in memory: a killed node comes back empty"
    if family in WITHOUT_TRANSACTIONS and is_transactional(workload):
        return f"{family} serves no transactions"
    return None
