"""Hashes and assignments compared with those of Apache's Java client."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from random import Random

import pytest

from reference_impl.client.group.classic.assignors import (
    ASSIGNORS,
    Assignment,
    CooperativeStickyAssignor,
    MemberSubscription,
    encode_subscription,
)
from reference_impl.client.producing.partitioners import murmur2
from reference_impl.client.values import TopicPartition
from reference_impl.wire.tests.java_oracle import run

pytestmark = pytest.mark.needs("java", "kafka-jars")
ORACLE = str(Path(__file__).parent / "java" / "ClientOracle.java")
SCENES = 120
KEYS = 200
STICKY = ("StickyAssignor", "CooperativeStickyAssignor")


class Scene:
    """Topics, members, and what the members own from a former assignment."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.name = list(ASSIGNORS)[seed % len(ASSIGNORS)]
        self.counts = {f"t{n}": random.randrange(1, 9) for n in range(random.randrange(1, 5))}
        self.is_uniform = random.random() < 0.6
        existing = [TopicPartition(t, n) for t, count in self.counts.items() for n in range(count)]
        self.members: dict[str, MemberSubscription] = {}
        random.shuffle(existing)
        for number in range(random.randrange(1, 7)):
            some = random.sample(sorted(self.counts), random.randrange(1, len(self.counts) + 1))
            topics = frozenset(self.counts if self.is_uniform else some)
            owned = [existing.pop() for _ in range(random.randrange(6)) if existing]
            instance = f"i{9 - number}" if random.random() < 0.3 else None
            assignor = ASSIGNORS[self.name]()
            self.members[f"m{random.randrange(10**6)}"] = MemberSubscription(
                topics, tuple(owned), 3, assignor.user_data(owned, 3), instance
            )

    def line(self) -> str:
        topics = ",".join(f"{topic}={count}" for topic, count in self.counts.items())
        members = "|".join(
            f"{member_id}/{member.group_instance_id or ''}/{encode_subscription(member).hex()}"
            for member_id, member in self.members.items()
        )
        return f"assign {self.name} {topics} {members}"

    def ours(self) -> Assignment:
        return ASSIGNORS[self.name]().assign(self.counts, self.members)

    def kept(self, assignment: Assignment) -> int:
        """Return the number of partitions that stay with their member."""
        return sum(
            partition in assignment[member_id]
            for member_id, member in self.members.items()
            for partition in member.owned
        )

    def is_balanced(self, assignment: Assignment) -> bool:
        """Return whether no member has two more than another that could take one of them
        (KIP-54)."""
        return not any(
            len(assignment[giver]) - len(assignment[taker]) >= 2
            and any(each.topic in self.members[taker].topics for each in assignment[giver])
            for giver in assignment
            for taker in assignment
        )


def parsed(answer: str) -> Assignment:
    assignment: Assignment = {}
    for member in answer.split("|"):
        member_id, _, partitions = member.partition("=")
        pairs = [each.split(":") for each in partitions.split(",") if each]
        assignment[member_id] = [TopicPartition(topic, int(number)) for topic, number in pairs]
    return assignment


def all_of(assignment: Assignment) -> list[TopicPartition]:
    return sorted(partition for each in assignment.values() for partition in each)


def keys() -> list[bytes]:
    random = Random(1)
    return [random.randbytes(random.randrange(40)) for _ in range(KEYS)]


@lru_cache(None)
def answers() -> list[str]:
    """Run all questions in one JVM and return the answers."""
    lines = [f"murmur2 {key.hex()}" for key in keys()]
    return run(ORACLE, "4.3.1", lines + [Scene(seed).line() for seed in range(SCENES)])


def test_murmur2_is_javas() -> None:
    theirs = [int(answer) & 0xFFFFFFFF for answer in answers()[:KEYS]]
    assert [murmur2(key) for key in keys()] == theirs


@pytest.mark.parametrize("seed", range(SCENES))
def test_an_assignment_is_as_good_as_javas(seed: int) -> None:
    scene = Scene(seed)
    ours, theirs = scene.ours(), parsed(answers()[KEYS + seed])
    if scene.name not in STICKY:
        assert ours == theirs
        return
    assert len(all_of(ours)) == len(all_of(theirs))
    if scene.name == "CooperativeStickyAssignor":
        # A partition that moves belongs to nobody yet, in both; so compare the targets.
        ours = CooperativeStickyAssignor().target(scene.counts, scene.members)
    wanted = {topic for member in scene.members.values() for topic in member.topics}
    everything = [TopicPartition(t, n) for t in sorted(wanted) for n in range(scene.counts[t])]
    assert all_of(ours) == everything
    assert scene.is_balanced(ours)
    if scene.is_uniform:
        assert scene.kept(ours) == scene.kept(theirs)
