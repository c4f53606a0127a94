"""Choose the plan of a schedule from its seed: the shape of the cluster, workload, nemesis, and
settings that make rare events frequent.

Each seed leaves most settings as they are and most faults out (swarm testing): a fault that always
occurs would hide errors that show only without it. The same seed always gives the same plan. Each
ROUND of seeds has every workload and every nemesis, so that a short search leaves none out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import cycle, islice
from random import Random

from chaos.clients.factories import REFERENCE, why_no_groups
from chaos.nemeses import NEMESES
from chaos.record.run_directory import Scenario
from chaos.run.fitting import able, check_somebody_to_strike
from chaos.scenarios.exploration import promised_config, promises
from chaos.sim.cluster.layout import Layout
from chaos.sim.target import Sim
from chaos.values.protocols import Nemesis, TargetError, Workload
from chaos.workloads import WORKLOADS
from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import BadConfig

SECONDS, LONGEST_S, RATE = 20.0, 160.0, 60.0
Shape = tuple[str, int]
"""(target, nodes)."""
SHAPES: tuple[Shape, ...] = (("sim", 1), ("sim", 3), ("sim:1", 3))
"""One node; three nodes with three controllers; three nodes, of which the first alone is a
controller."""
ROUND = 60
"""The number of seeds in a row that have each nemesis and each workload at least once."""
LARGEST = max(nodes for _, nodes in SHAPES)
SETTINGS: Mapping[str, tuple[float, tuple[str, ...]]] = {
    "offsets.topic.num.partitions": (0.3, ("1", "2")),
    "transaction.state.log.num.partitions": (0.3, ("1", "2")),
    "log.flush.interval.messages": (0.15, ("1", "3")),
    "log.cleaner.backoff.ms": (0.3, ("200", "1000")),
    "log.retention.check.interval.ms": (0.3, ("1000", "5000")),
    "group.initial.rebalance.delay.ms": (0.2, ("500", "1500")),
    "max.incremental.fetch.session.cache.slots": (0.2, ("0", "2")),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": (0.3, ("500", "2000")),
    "num.partitions": (0.2, ("3",)),
}
"""Broker setting -> the share of schedules that have it, and its possible values. With Kafka's own
group.initial.rebalance.delay.ms of 3 s, a nemesis that leaves a group 2 to 4 s of calm lets it
deliver nothing at all."""


def workloads(nodes: int = LARGEST) -> tuple[Workload, ...]:
    """Return the workloads that this many simulated nodes, and their clients, can run."""
    return tuple(
        one
        for one in WORKLOADS.values()
        if one.nodes_min <= nodes and why_no_groups(REFERENCE, one) is None and accepts(one.config)
    )


def accepts(config: Mapping[str, str]) -> bool:
    """Return whether the reference broker implements the features that these settings turn on."""
    try:
        BrokerConfig.of(Layout.of(1, None).settings(1, config))
    except BadConfig:
        return False
    return True


def nemeses(workload: Workload, nodes: int = LARGEST) -> tuple[Nemesis, ...]:
    """Return the nemeses for a workload that the simulator can perform on this many nodes, and
    under which Kafka keeps the promises that the workload's checkers judge."""
    target = Sim()
    return tuple(
        one
        for one in NEMESES.values()
        if one.nodes_min <= nodes
        and able(target, one)
        and has_a_victim(workload, one)
        and promises(workload.name, one.name, target.name)
    )


@cache
def combinations(nodes: int) -> tuple[tuple[Workload, tuple[Nemesis, ...]], ...]:
    """Return each workload that this many nodes can run, with its nemeses."""
    return tuple((workload, nemeses(workload, nodes)) for workload in workloads(nodes))


def has_a_victim(workload: Workload, nemesis: Nemesis) -> bool:
    """Return whether the workload uses what the nemesis attacks, such as a group coordinator."""
    try:
        check_somebody_to_strike(workload, nemesis)
    except TargetError:
        return False
    return True


@cache
def pairs_with(nemesis: str) -> Mapping[str, tuple[Shape, ...]]:
    """Return each workload that fits a nemesis, with the shapes of cluster on which they can
    run."""
    found: dict[str, tuple[Shape, ...]] = {}
    for shape in SHAPES:
        for workload, fitting in combinations(shape[1]):
            if nemesis in {one.name for one in fitting}:
                found[workload.name] = (*found.get(workload.name, ()), shape)
    return found


@lru_cache(maxsize=16)
def round_of(number: int) -> Sequence[tuple[Shape, Workload, Nemesis]]:
    """Return the shape, workload and nemesis of each seed of a round: ROUND seeds in a row, among
    which each nemesis and each workload occurs. Independent draws would leave a quarter of the
    nemeses out of so few seeds."""
    rng = Random(f"{number}:round")
    names = list(dict.fromkeys(n.name for _, fitting in combinations(LARGEST) for n in fitting))
    rng.shuffle(names)
    uses, found = Counter[str](), []
    for name in islice(cycle(names), ROUND):
        fitting = pairs_with(name)
        rarest = min(uses[workload] for workload in fitting)
        chosen = rng.choice([workload for workload in fitting if uses[workload] == rarest])
        uses[chosen] += 1
        found.append((rng.choice(fitting[chosen]), WORKLOADS[chosen], NEMESES[name]))
    rng.shuffle(found)
    return found


def plan_of(seed: int) -> Scenario:
    """Return the plan of a seed: target, nodes, workload, a nemesis that fits it, and settings, all
    drawn from the seed and its round."""
    (target, nodes), workload, nemesis = round_of(seed // ROUND)[seed % ROUND]
    rng = Random(f"{seed}:plan")
    config = {}
    for name, (share, values) in SETTINGS.items():
        value, is_drawn = rng.choice(values), rng.random() < share
        if is_drawn and name not in workload.config:
            config[name] = value
    config |= promised_config(nemesis.name)
    return Scenario(target, workload.name, nemesis.name, nodes, SECONDS, seed, config, rate=RATE)
