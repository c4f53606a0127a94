"""The assignors: complete, fair, and sticky where they promise it."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.core.groups.consumer.assignors import ASSIGNORS, Assignment, MemberSpec, uniform
from reference_impl.core.groups.consumer.assignors import range as range_assignor

TOPICS = [UUID(int=number) for number in range(1, 5)]
Case = tuple[list[MemberSpec], dict[UUID, int]]


def spec(name: str, *topics: UUID, instance: str | None = None) -> MemberSpec:
    return MemberSpec(name, instance, frozenset(topics), frozenset())


def after(members: list[MemberSpec], assignment: Assignment) -> list[MemberSpec]:
    """Return the same members after the assignment has become their target."""
    return [
        MemberSpec(each.member_id, each.instance_id, each.topics, assignment[each.member_id])
        for each in members
    ]


@st.composite
def cases(draw: st.DrawFn, *, alike: bool = False) -> Case:
    """Return members with topics of their own, or all with the same, and without a previous
    target."""
    counts = {topic: draw(st.integers(1, 9)) for topic in TOPICS}
    common = draw(st.sets(st.sampled_from(TOPICS)))
    members = []
    for number in range(draw(st.integers(1, 6))):
        topics = common if alike else draw(st.sets(st.sampled_from(TOPICS)))
        members.append(spec(f"m{number}", *topics))
    return members, counts


def check_complete(members: list[MemberSpec], counts: dict[UUID, int], parts: Assignment) -> None:
    """Require that every wanted partition has one reader, which wants it."""
    assert set(parts) == {member.member_id for member in members}
    for member in members:
        assert {topic for topic, _ in parts[member.member_id]} <= member.topics
    wanted = set().union(*(member.topics for member in members))
    everything = sorted((topic, index) for topic in wanted for index in range(counts[topic]))
    assert sorted(key for part in parts.values() for key in part) == everything


@pytest.mark.parametrize("name", ASSIGNORS)
@settings(max_examples=150)
@given(cases(), st.data())
def test_every_partition_has_one_reader_whatever_happened_before(
    name: str, case: Case, data: st.DataObject
) -> None:
    members, counts = case
    parts = ASSIGNORS[name](members, counts)
    check_complete(members, counts, parts)
    later = after(members, parts)
    if len(later) > 1:
        later = later[:-1]
    later.append(spec("zz-new", *data.draw(st.sets(st.sampled_from(TOPICS)))))
    counts = {topic: count + data.draw(st.integers(0, 2)) for topic, count in counts.items()}
    check_complete(later, counts, ASSIGNORS[name](later, counts))


@settings(max_examples=150)
@given(cases(alike=True))
def test_uniform_is_balanced_and_moves_no_more_than_it_must(case: Case) -> None:
    members, counts = case
    before = uniform.assign(members, counts)
    sizes = sorted(len(part) for part in before.values())
    assert sizes[-1] - sizes[0] <= 1
    assert uniform.assign(after(members, before), counts) == before
    joined = [*after(members, before), spec("zz-new", *members[0].topics)]
    now = uniform.assign(joined, counts)
    moved = sum(len(before[name] - now[name]) for name in before)
    assert moved == len(now["zz-new"])


@settings(max_examples=150)
@given(cases())
def test_uniform_changes_nothing_when_asked_again(case: Case) -> None:
    members, counts = case
    before = uniform.assign(members, counts)
    assert uniform.assign(after(members, before), counts) == before


def test_uniform_balances_over_different_subscriptions() -> None:
    both, only = spec("a", TOPICS[0], TOPICS[1]), spec("b", TOPICS[0])
    parts = uniform.assign([both, only], {TOPICS[0]: 6, TOPICS[1]: 4})
    assert {name: len(part) for name, part in parts.items()} == {"a": 5, "b": 5}


def test_range_gives_runs_and_the_remainder_to_the_first() -> None:
    parts = range_assignor.assign([spec(name, TOPICS[0]) for name in "bca"], {TOPICS[0]: 7})
    runs = {name: sorted(index for _, index in part) for name, part in parts.items()}
    assert runs == {"a": [0, 1, 2], "b": [3, 4], "c": [5, 6]}


@settings(max_examples=100)
@given(cases(alike=True))
def test_range_co_partitions_topics_of_equal_size(case: Case) -> None:
    members, _ = case
    parts = range_assignor.assign(members, dict.fromkeys(TOPICS, 6))
    for part in parts.values():
        indexes = {topic: {index for each, index in part if each == topic} for topic, _ in part}
        assert len(set(map(frozenset, indexes.values()))) <= 1


def test_range_puts_static_members_first_by_their_instance() -> None:
    members = [spec("a", TOPICS[0]), spec("z", TOPICS[0], instance="1"), spec("y", TOPICS[0])]
    parts = range_assignor.assign(members, {TOPICS[0]: 3})
    assert [index for name in ("z", "a", "y") for _, index in parts[name]] == [0, 1, 2]
