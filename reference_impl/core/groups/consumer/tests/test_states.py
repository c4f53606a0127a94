"""The tables of transitions of consumer groups and of their members."""

from __future__ import annotations

from reference_impl.core.groups.consumer.model.states import (
    CONSUMER_GROUP,
    GroupState,
    MemberMove,
    MemberState,
    next_member_state,
)


def test_every_state_of_a_group_is_reached_and_only_the_dead_stay() -> None:
    reached = {end for moves in CONSUMER_GROUP.values() for end in moves.values()}
    assert reached == set(GroupState)
    assert [state for state, moves in CONSUMER_GROUP.items() if not moves] == [GroupState.DEAD]


def test_a_member_can_take_every_step_from_everywhere() -> None:
    for state in MemberState:
        assert next_member_state(state, MemberMove.ARRIVES) is MemberState.STABLE
        assert next_member_state(state, MemberMove.MUST_REVOKE) is MemberState.UNREVOKED_PARTITIONS
        assert next_member_state(state, MemberMove.MUST_WAIT) is MemberState.UNRELEASED_PARTITIONS
