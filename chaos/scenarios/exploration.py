"""Explore combinations of target, workload, nemesis and settings, round after round, chosen by a
seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from random import Random

from chaos.nemeses import NEMESES
from chaos.record.run_directory import Scenario
from chaos.run.fitting import family_of
from chaos.scenarios.expectation import Expectation, Part
from chaos.scenarios.fitting import nodes_of, seconds_of, why_not
from chaos.scenarios.regression import FLUSH_EACH
from chaos.values.fault_kinds import POWER_FAULTS
from chaos.values.faults import ClockJump, ClockSkew, CutClients, DelayAnswers, Heal, Kill, Shutdown
from chaos.workloads import WORKLOADS
from linearizability.verdict import Validity

WHY = "guarantees hold whatever this nemesis does"


@dataclass(frozen=True)
class Settings:
    """One variant of a run's settings: the configuration of the brokers, and the client library."""

    config: Mapping[str, str] = field(default_factory=dict)
    client: str = "confluent"


SETTINGS: tuple[Settings, ...] = (
    Settings(),
    Settings({"log.segment.bytes": "1048576"}),  # segments roll during the run
    Settings({"compression.type": "lz4"}),  # the broker compresses batches again
    Settings(client="reference"),  # distinguishes a broker's error from a client's
)
PLAIN_SHARE = 0.5
"""The share of runs with the default settings, which most people use."""

BREAK_PROMISES = frozenset({"last-replica-standing", "bit-flip-active", "bit-flip-closed"})
"""Nemeses that destroy records which nobody promised to keep. They are only in the regression list
and in the guarantee tables, where each has its expected verdict."""

ASK_LEADERS = frozenset({"register"})
"""Workloads that trust any broker that claims to lead. A leader that does not know yet that it has
been replaced reports an old high watermark, and no rule of Kafka forbids that."""
LEAVE_NO_OLD_LEADER = frozenset({Kill, CutClients, DelayAnswers, Heal})

TELL_THE_AGE = frozenset({"retention"})
"""Workloads whose records are deleted by age. A broker whose clock is set forward deletes too
early, and is right according to its clock."""
MOVE_CLOCKS = frozenset({ClockJump, ClockSkew})

LOSE_UNSYNCED_NAMES = "lost-names"
NAMES_UNSYNCED = frozenset({"apache"})
"""Families whose brokers sync log.dirs only with the next checkpoint after they have made a
partition's directory. On a file system that loses unsynced names, a new partition may be lost as a
whole, even if it was flushed (docs/findings.md). A file system with a journal keeps it."""


def exploration(targets: Sequence[str], seed: int) -> Iterator[Expectation]:
    """Yield, round after round without an end, every combination of workload and nemesis that can
    run here and under which Kafka promises the guarantees (`promises`), in random order,
    alternating between the targets. Yield nothing if there is none."""
    rng = Random(f"{seed}:exploration")
    while True:
        rounds = [_round(target, rng) for target in targets]
        if not any(rounds):
            return
        for abreast in zip_longest(*rounds):
            yield from (one for one in abreast if one is not None)


def _round(target: str, rng: Random) -> list[Expectation]:
    family = family_of(target)
    pairs = [(w, n) for w in WORKLOADS for n in NEMESES if promises(w, n, family)]
    rng.shuffle(pairs)
    chosen = [_scenario(target, workload, nemesis, rng) for workload, nemesis in pairs]
    return [
        Expectation(scenario, Validity.VALID, Part.EXPLORATION, WHY)
        for scenario in chosen
        if scenario is not None
    ]


def _scenario(target: str, workload: str, nemesis: str, rng: Random) -> Scenario | None:
    """Return one combination with random settings and a random seed, or with default settings and
    the same seed if the random ones do not fit. Return None if the combination cannot run."""
    seed = rng.randrange(1 << 30)
    chosen = SETTINGS[0] if rng.random() < PLAIN_SHARE else rng.choice(SETTINGS)
    for settings in (chosen, SETTINGS[0]):
        scenario = Scenario(
            target,
            workload,
            nemesis,
            nodes_of(target),
            seconds_of(target),
            seed,
            {**settings.config, **promised_config(nemesis)},
            client=settings.client,
        )
        if why_not(scenario) is None:
            return scenario
    return None


def promises(workload: str, nemesis: str, family: str) -> bool:
    """Return whether Kafka promises the guarantees of this workload's checkers under the faults of
    this nemesis."""
    if nemesis == LOSE_UNSYNCED_NAMES and family in NAMES_UNSYNCED:
        return False
    if workload in ASK_LEADERS and not NEMESES[nemesis].faults <= LEAVE_NO_OLD_LEADER:
        return False
    if workload in TELL_THE_AGE and NEMESES[nemesis].faults & MOVE_CLOCKS:
        return False
    return nemesis not in BREAK_PROMISES


def promised_config(nemesis: str) -> Mapping[str, str]:
    """Return the settings under which no acknowledged record may be lost. For a loss of power they
    make brokers flush every record, unless a clean shutdown comes first, which flushes everything.
    Return no settings otherwise."""
    faults = NEMESES[nemesis].faults
    return FLUSH_EACH if POWER_FAULTS & faults and Shutdown not in faults else {}
