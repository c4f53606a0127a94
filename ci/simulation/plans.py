"""Choose the plan of a schedule from its seed: workload, nemesis, and settings that make rare
events frequent.

Each seed leaves most settings as they are and most faults out (swarm testing): a fault that always
occurs would hide errors that show only without it. The same seed always gives the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from random import Random

from chaos.clients.factories import REFERENCE, why_no_groups
from chaos.nemeses import NEMESES
from chaos.record.run_directory import Scenario
from chaos.run.fitting import able, check_somebody_to_strike
from chaos.scenarios.exploration import promised_config, promises
from chaos.sim.target import Sim
from chaos.values.protocols import Nemesis, TargetError, Workload
from chaos.workloads import WORKLOADS

SECONDS, LONGEST_S, RATE = 20.0, 160.0, 60.0
SETTINGS: Mapping[str, tuple[float, tuple[str, ...]]] = {
    "offsets.topic.num.partitions": (0.3, ("1", "2")),
    "transaction.state.log.num.partitions": (0.3, ("1", "2")),
    "log.flush.interval.messages": (0.15, ("1", "3")),
    "log.cleaner.backoff.ms": (0.3, ("200", "1000")),
    "log.retention.check.interval.ms": (0.3, ("1000", "5000")),
    "group.initial.rebalance.delay.ms": (0.2, ("500", "3000")),
    "max.incremental.fetch.session.cache.slots": (0.2, ("0", "2")),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": (0.3, ("500", "2000")),
    "num.partitions": (0.2, ("3",)),
}
"""Broker setting -> the share of schedules that have it, and its possible values."""


def workloads() -> tuple[Workload, ...]:
    """Return the workloads that one simulated node and its clients can run."""
    return tuple(
        one
        for one in WORKLOADS.values()
        if one.nodes_min <= 1 and why_no_groups(REFERENCE, one) is None
    )


def nemeses(workload: Workload) -> tuple[Nemesis, ...]:
    """Return the nemeses for a workload that the simulator can perform, and under which Kafka keeps
    the promises that the workload's checkers judge."""
    target = Sim()
    return tuple(
        one
        for one in NEMESES.values()
        if one.nodes_min <= 1
        and able(target, one)
        and has_a_victim(workload, one)
        and promises(workload.name, one.name, target.name)
    )


@cache
def combinations() -> tuple[tuple[Workload, tuple[Nemesis, ...]], ...]:
    """Return each workload with its nemeses."""
    return tuple((workload, nemeses(workload)) for workload in workloads())


def has_a_victim(workload: Workload, nemesis: Nemesis) -> bool:
    """Return whether the workload uses what the nemesis attacks, such as a group coordinator."""
    try:
        check_somebody_to_strike(workload, nemesis)
    except TargetError:
        return False
    return True


def plan_of(seed: int) -> Scenario:
    """Return the plan of a seed."""
    rng = Random(f"{seed}:plan")
    workload, fitting = rng.choice(combinations())
    nemesis = rng.choice(fitting)
    config = {}
    for name, (share, values) in SETTINGS.items():
        value, is_drawn = rng.choice(values), rng.random() < share
        if is_drawn and name not in workload.config:
            config[name] = value
    config |= promised_config(nemesis.name)
    return Scenario("sim", workload.name, nemesis.name, 1, SECONDS, seed, config, rate=RATE)
