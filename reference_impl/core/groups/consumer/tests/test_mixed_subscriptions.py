"""The uniform assignor where members want different topics, on groups by chance."""

from __future__ import annotations

from collections import Counter
from random import Random
from uuid import UUID

import pytest

from reference_impl.core.groups.consumer.assignors.spec import MemberSpec
from reference_impl.core.groups.consumer.assignors.uniform_mixed import assign
from reference_impl.core.tests.counting import counted

TOPICS = [UUID(int=number) for number in range(1, 6)]


def group_by_chance(random: Random) -> tuple[list[MemberSpec], dict[UUID, int]]:
    """Return members with random topics and parts of an earlier, unfair assignment."""
    counts = {topic: random.randint(1, 6) for topic in TOPICS}
    wanted = [frozenset(random.sample(TOPICS, random.randint(0, 5))) for _ in range(4)]
    parts: list[set[tuple[UUID, int]]] = [set() for _ in wanted]
    for topic, count in counts.items():
        for index in range(count):
            if random.random() < 0.7:
                random.choice(parts).add((topic, index))
    members = [
        MemberSpec(f"member-{number}", None, topics, frozenset(part))
        for number, (topics, part) in enumerate(zip(wanted, parts, strict=True))
    ]
    return members, counts


@pytest.mark.seeds(200)
def test_every_wanted_partition_is_in_the_part_of_one_member_who_wants_it(seed: int) -> None:
    members, counts = group_by_chance(Random(seed))
    assignment = assign(members, counts)
    wanted = set().union(*(member.topics for member in members))
    times = Counter(key for part in assignment.values() for key in part)
    assert times == {(topic, index): 1 for topic in wanted for index in range(counts[topic])}
    for member in members:
        assert {topic for topic, _ in assignment[member.member_id]} <= member.topics


def test_the_work_grows_with_members_and_partitions_and_not_with_their_product() -> None:
    """A large group is assigned in one step, in which all other clients of the broker wait."""
    topics = [UUID(int=number) for number in range(1, 41)]
    counts = dict.fromkeys(topics, 10)
    all_at_one = frozenset((topic, index) for topic in topics for index in range(10))
    members = [
        MemberSpec(
            f"member-{number:03}",
            None,
            frozenset(topics[number % 2 :]),
            all_at_one if number == 0 else frozenset(),
        )
        for number in range(200)
    ]
    assignment, calls = counted(lambda: assign(members, counts))
    assert {len(part) for part in assignment.values()} == {2}
    assert calls < 100_000
