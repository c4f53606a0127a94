"""Random changes of partitions compared with those of Apache's PartitionChangeBuilder."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.controller.leaders.partition_changes import (
    NO_LEADER,
    Circumstances,
    Election,
    change_of,
)
from reference_impl.core.controller.leaders.reassignments import moving
from reference_impl.core.rules import Rules
from reference_impl.wire.tests.java_oracle import run

ORACLE = str(Path(__file__).parent / "java" / "ChangeOracle.java")
BROKERS = (1, 2, 3, 4, 5)
CHANGES = 4_000


@dataclass(frozen=True)
class Change:
    """One change: the state before, the wanted one, and the conditions."""

    old: PartitionImage
    wanted: PartitionImage
    live: Collection[int]
    min_isr: int
    election: Election
    unclean: tuple[int, ...]
    has_elr: bool

    def line(self) -> str:
        wanted = self.wanted
        asked = (
            joined(wanted.isr),
            joined(wanted.replicas),
            joined(wanted.adding),
            joined(wanted.removing),
            str(int(wanted.is_recovering)),
        )
        conditions = (joined(self.live), str(self.min_isr), self.election.name)
        rest = (joined(self.unclean), str(int(self.has_elr)))
        return ";".join((shown(self.old), *asked, *conditions, *rest))

    def ours(self) -> str:
        circumstances = Circumstances(
            lambda replica, _: replica in self.live,
            self.min_isr,
            self.has_elr,
            self.election,
            frozenset(self.unclean),
            {broker: UUID(int=broker) for broker in BROKERS},
        )
        return shown(change_of(Rules(), self.old, self.wanted, circumstances))


def joined(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def shown(state: PartitionImage) -> str:
    """Return a state as the oracle writes it."""
    lists = (state.replicas, state.isr, sorted(state.elr), state.last_known_elr)
    moves = (state.adding, state.removing, [each.int for each in state.directories])
    return ";".join(
        (
            *map(joined, lists),
            str(state.leader),
            str(int(state.is_recovering)),
            *map(joined, moves),
            str(state.leader_epoch),
            str(state.partition_epoch),
        )
    )


def some(random: Random, numbers: Iterable[int], share: float) -> list[int]:
    return [number for number in numbers if random.random() < share]


def state_before(random: Random, *, has_elr: bool) -> PartitionImage:
    replicas = random.sample(BROKERS, random.randint(1, 4))
    is_moving = len(replicas) > 1 and random.random() < 0.4
    kinds = {replica: random.choice("-ar") if is_moving else "-" for replica in replicas}
    isr = some(random, replicas, 0.6)
    random.shuffle(isr)
    if not (has_elr or isr):
        isr = [random.choice(replicas)]
    leader = random.choice(isr) if isr and random.random() < 0.9 else NO_LEADER
    is_alone = has_elr and leader == NO_LEADER and random.random() < 0.6
    elr = some(random, sorted(set(replicas) - set(isr)), 0.5) if has_elr else []
    return PartitionImage(
        tuple(replicas),
        tuple(isr),
        leader,
        5,
        9,
        tuple(sorted(each for each, kind in kinds.items() if kind == "a")),
        tuple(sorted(each for each, kind in kinds.items() if kind == "r")),
        tuple(UUID(int=random.choice((0, each, each))) for each in replicas),
        tuple(elr),
        (random.choice(replicas),) if is_alone else (),
        leader != NO_LEADER and random.random() < 0.2,
    )


def change(seed: int) -> Change:
    random = Random(seed)
    has_elr = random.random() < 0.85
    old = wanted = state_before(random, has_elr=has_elr)
    live = some(random, BROKERS, 0.6)
    election = random.choice(list(Election))
    unclean: tuple[int, ...] = ()
    match random.choice(("leaves", "leaves uncleanly", "alters", "moves", "elects")):
        case "leaves" | "leaves uncleanly" as how:
            gone = random.choice(old.replicas)
            live = [each for each in live if each != gone]
            wanted = replace(old, isr=tuple(each for each in old.isr if each != gone))
            unclean = (gone,) if how == "leaves uncleanly" else ()
            election = random.choice((Election.ONLINE, Election.UNCLEAN))
        case "alters" if old.leader != NO_LEADER:
            recovers = old.is_recovering and random.random() < 0.5
            others = [] if recovers else some(random, set(old.replicas) - {old.leader}, 0.5)
            wanted = replace(old, isr=(old.leader, *others), is_recovering=recovers)
            election = random.choice((Election.ONLINE, Election.UNCLEAN))
        case "moves":
            wanted = moving(old, random.sample(BROKERS, random.randint(1, 4)))
            election = Election.ONLINE
    return Change(old, wanted, live, random.randint(1, 3), election, unclean, has_elr)


@pytest.mark.needs("java", "kafka-jars")
def test_every_change_is_the_one_that_kafka_makes() -> None:
    changes = [change(seed) for seed in range(CHANGES)]
    answers = run(ORACLE, "4.3.1", [each.line() for each in changes])
    differing = [
        (each.line(), each.ours(), sorted_elr(answer))
        for each, answer in zip(changes, answers, strict=True)
        if each.ours() != sorted_elr(answer)
    ]
    assert differing == []


def sorted_elr(answer: str) -> str:
    """Return an answer with its eligible replicas in order: Kafka keeps them in a set."""
    fields = answer.split(";")
    fields[2] = ",".join(sorted(fields[2].split(",")))
    return ";".join(fields)
