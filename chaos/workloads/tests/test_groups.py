"""The workloads of groups: who sends, who is a member, and how a membership ends."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from chaos.clients.factories import check_groups
from chaos.values.operations import CommitPosition, FetchPositions, Idle, Membership
from chaos.values.protocols import (
    CommitOffsets,
    Completion,
    Crash,
    GroupProtocol,
    Leave,
    Operation,
    Outcome,
    Poll,
    Record,
    Send,
    Subscribe,
    TargetError,
)
from chaos.workloads import WORKLOADS
from chaos.workloads.groups import SETTLED_S, GroupPositions
from chaos.workloads.lives import CALM_S, LIFE_S, RESTLESS_S

GROUPS = ("groups", "groups-cooperative", "groups-consumer")
OK = Completion(Outcome.OK)
READ = Completion(Outcome.OK, (Record("t", 0, 1, 0),))
BROKEN = Completion(Outcome.FAIL, broken=True)
AUTO, MANUAL = 3, 4


def drive(process: int, completion: Completion, count: int = 4_000) -> list[Operation]:
    operations = WORKLOADS["groups"].operations(process, Random(f"7:workload:{process}"))
    return [next(operations), *(operations.send(completion) for _ in range(count))]


def committing(name: str) -> list[Operation]:
    """Return the operations of members that all read, and commit as m-1 in generation 3."""
    operations = WORKLOADS[name].operations(MANUAL, Random(1))
    columns = {"member_id": "m-1", "generation": 3}
    committed = Completion(Outcome.OK, (Record("t", 2, None, 7),), columns=columns)
    done = [next(operations)]
    for _ in range(2_000):
        done.append(operations.send(committed if isinstance(done[-1], CommitOffsets) else READ))
    return done


@pytest.mark.parametrize("process", [AUTO, MANUAL])
def test_a_member_subscribes_polls_and_then_leaves_or_crashes(process: int) -> None:
    done = drive(process, READ, 60_000)
    operations = [o for o in done if not isinstance(o, CommitOffsets | Idle)]
    assert isinstance(operations[0], Subscribe)
    for before, after in pairwise(operations):
        allowed = (Poll, Leave, Crash) if isinstance(before, Subscribe | Poll) else (Subscribe,)
        assert isinstance(after, allowed)
    ends = Counter(type(o) for o in operations if isinstance(o, Leave | Crash))
    assert ends[Leave] > 5 and ends[Crash] > 5


@pytest.mark.parametrize("name", ["groups-static", "groups-static-positions"])
def test_sessions_of_static_members_are_as_long_as_librdkafka_allows(name: str) -> None:
    group, other = (WORKLOADS[each].settings(AUTO).group for each in (name, "groups"))
    assert group is not None and other is not None
    assert group.max_poll_interval_ms == group.session_timeout_ms > other.session_timeout_ms


def test_half_of_the_members_ask_for_their_commits() -> None:
    assert not any(isinstance(o, CommitOffsets) for o in drive(AUTO, READ))
    assert sum(isinstance(o, CommitOffsets) for o in drive(MANUAL, READ)) > 500
    settings = [WORKLOADS["groups"].settings(process).group for process in range(7)]
    assert [group and group.auto_commit for group in settings] == [
        None,
        None,
        None,
        True,
        False,
        True,
        False,
    ]


def test_nothing_is_committed_where_nothing_was_read() -> None:
    assert not any(isinstance(o, CommitOffsets) for o in drive(MANUAL, OK))


@pytest.mark.parametrize("name", ["groups-positions", "groups-consumer-positions"])
def test_where_positions_are_asked_for_every_commit_is_known(name: str) -> None:
    workload = WORKLOADS[name]
    for process in range(workload.processes):
        group = workload.settings(process).group
        assert group is None or not group.auto_commit
    operations = workload.operations(MANUAL, Random(1))
    done = [next(operations), *(operations.send(READ) for _ in range(1_000))]
    done = [each for each in done if not isinstance(each, Send)]
    asked = [o for o in done if isinstance(o, FetchPositions)]
    assert len(asked) > 20
    *_, (_, last) = workload.final_operations()
    assert {*asked, last} == {FetchPositions(f"group-of-{name}", name, tuple(range(6)))}
    assert "committed_offsets" in workload.judged_by


@pytest.mark.parametrize(
    "name", ["groups-positions", "groups-static-positions", "groups-consumer-positions"]
)
def test_who_is_no_member_any_more_commits_again_as_the_member_that_it_was(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commits are the last of lives that are over; the instance is the same, if it has one."""
    monkeypatch.setattr(GroupPositions, "repeat_share", 0.0)
    monkeypatch.setattr(GroupPositions, "nobody_share", 0.0)
    monkeypatch.setattr(GroupPositions, "stranger_share", 0.0)
    done = committing(name)
    zombies = [each for each in done if isinstance(each, CommitPosition)]
    group = WORKLOADS[name].settings(MANUAL).group
    assert group is not None and len(zombies) > 10
    member = Membership("m-1", 3, group.instance_id)
    assert set(zombies) == {CommitPosition(group.name, "t", 2, 7, member)}
    ends = [n for n, each in enumerate(done) if isinstance(each, Leave | Crash)]
    assert done.index(zombies[0]) > ends[0]


def test_a_living_member_goes_back_to_its_first_commit_and_asks_where_the_group_is() -> None:
    workload = WORKLOADS["groups-positions"]
    operations = workload.operations(MANUAL, Random(1))
    done, commits, first = [next(operations)], 0, 0
    for _ in range(3_000):
        completion = READ
        if isinstance(done[-1], Subscribe):
            first = commits + 1
        elif isinstance(done[-1], CommitOffsets):
            commits += 1
            columns = {"member_id": "m-1", "generation": 3}
            completion = Completion(Outcome.OK, (Record("t", 2, None, commits),), columns=columns)
        done.append(operations.send(completion))
        last = done[-1]
        is_first = not isinstance(done[-2], CommitPosition)
        if is_first and isinstance(last, CommitPosition) and last.member and last.offset >= first:
            assert last.offset == first
            assert isinstance(operations.send(OK), FetchPositions)
            return
    pytest.fail("no living member repeated a commit")


def test_a_commit_without_a_member_stands_between_two_of_a_living_one() -> None:
    done = committing("groups-positions")
    found = 0
    for each, following in pairwise(done):
        if isinstance(each, CommitPosition) and each.member is None:
            assert following == replace(each, member=Membership("m-1", 3))
            found += 1
    assert found > 10


@pytest.mark.parametrize("name", ["groups-positions", "groups-static-positions"])
def test_a_commit_of_a_stranger_stands_between_two_of_the_living_member(name: str) -> None:
    done = committing(name)
    found = 0
    for each, following in pairwise(done):
        if isinstance(each, CommitPosition) and each.member and each.member.member_id != "m-1":
            own = replace(each.member, member_id="m-1")
            assert following == replace(each, member=own)
            assert own.instance_id == ("member-4" if "static" in name else None)
            found += 1
    assert found > 10


@pytest.mark.parametrize("name", [*GROUPS, "groups-static-positions", "transform"])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("reads_after_s", "least"), [(5.0, 2), (15.0, 1)])
def test_in_twenty_seconds_some_members_leave_and_others_crash(
    name: str, seed: int, reads_after_s: float, least: int
) -> None:
    """Each operation takes 50 ms here."""
    workload, ends = WORKLOADS[name], Counter[type[Operation]]()
    for process in range(workload.processes):
        if workload.settings(process).group is None:
            continue
        operations = workload.operations(process, Random(f"{seed}:workload:{process}"))
        done, now_s = next(operations), 0.0
        while now_s < 20.0:
            now_s += done.seconds if isinstance(done, Idle) else 0.05
            completion = READ if now_s > reads_after_s else OK
            done = operations.send(replace(completion, now_s=now_s))
            ends[type(done)] += 1
    assert ends[Crash] >= least and ends[Leave] >= least


@pytest.mark.parametrize("is_slow", [True, False])
def test_lives_end_in_time_however_long_polls_take(is_slow: bool) -> None:
    operations = WORKLOADS["groups"].operations(AUTO, Random(1))
    done, now_s, joined_s = next(operations), 0.0, 0.0
    lives = []
    while now_s < RESTLESS_S:
        if isinstance(done, Subscribe):
            joined_s = now_s
        elif isinstance(done, Leave | Crash):
            lives.append(now_s - joined_s)
        now_s += 1.0 if is_slow and isinstance(done, Poll) else 0.05
        done = operations.send(replace(READ, now_s=now_s))
    assert lives and max(lives) <= LIFE_S[1] + 2


@pytest.mark.parametrize("name", ["groups-positions", "groups-consumer-positions"])
def test_a_living_member_repeats_commits_of_its_older_generations(name: str) -> None:
    older = 0
    operations = WORKLOADS[name].operations(MANUAL, Random(1))
    operation, generation, repeated = next(operations), 0, 0
    for _ in range(6_000):
        completion = READ
        if isinstance(operation, Subscribe):
            lived = generation
        elif isinstance(operation, CommitOffsets):
            generation += 1
            columns = {"member_id": "m-1", "generation": generation}
            completion = Completion(Outcome.OK, (Record("t", 2, None, 5),), columns=columns)
        elif isinstance(operation, CommitPosition) and operation.member is not None:
            is_alive = operation.member.generation > lived
            repeated += is_alive
            older += is_alive and operation.member.generation < generation
        operation = operations.send(completion)
    assert repeated > older > 0


def test_some_lives_have_a_pause_longer_than_a_member_may_be_silent() -> None:
    group = WORKLOADS["groups"].settings(AUTO).group
    pauses = [o.seconds for o in drive(AUTO, READ, 60_000) if isinstance(o, Idle)]
    assert group is not None and pauses
    assert min(pauses) * 1_000 > group.max_poll_interval_ms


def test_a_commit_of_unknown_generation_makes_no_zombie() -> None:
    unknown = Completion(Outcome.OK, (Record("t", 2, None, 7),), columns={"member_id": "m-1"})
    operations = WORKLOADS["groups-positions"].operations(MANUAL, Random(1))
    done = [next(operations)]
    for _ in range(1_000):
        done.append(operations.send(unknown if isinstance(done[-1], CommitOffsets) else READ))
    assert not any(isinstance(each, CommitPosition) for each in done)


def test_a_broken_member_neither_leaves_nor_crashes() -> None:
    operations = WORKLOADS["groups"].operations(AUTO, Random(1))
    assert isinstance(next(operations), Subscribe)
    assert isinstance(operations.send(OK), Poll)
    assert isinstance(operations.send(BROKEN), Subscribe)


def test_the_three_kinds_are_three_protocols_and_all_are_judged_as_groups() -> None:
    groups = [WORKLOADS[name].settings(AUTO).group for name in GROUPS]
    assert [(g.protocol, g.assignor) for g in groups if g] == [
        (GroupProtocol.CLASSIC, "range"),
        (GroupProtocol.CLASSIC, "cooperative-sticky"),
        (GroupProtocol.CONSUMER, "uniform"),
    ]
    assert all("group_delivery" in WORKLOADS[name].judged_by for name in GROUPS)


@pytest.mark.parametrize("client", ["java", "reference"])
def test_two_clients_have_members_but_not_in_transactions(client: str) -> None:
    check_groups("confluent", WORKLOADS["transform"])
    for name in GROUPS:
        check_groups(client, WORKLOADS[name])
    refused = rf"{client} cannot commit a group's positions in transactions.*--client confluent"
    with pytest.raises(TargetError, match=refused):
        check_groups(client, WORKLOADS["transform"])


@pytest.mark.parametrize("process", [MANUAL, 6])
def test_in_a_calm_time_members_stay_and_the_last_one_crashes_and_stays_away(process: int) -> None:
    """Each operation takes 50 ms here."""
    now_s = 1_000.0
    operations = WORKLOADS["groups"].operations(process, Random(1))
    done: list[tuple[float, Operation]] = []
    operation = next(operations)
    while now_s - 1_000 < 2 * (RESTLESS_S + CALM_S):
        done.append((now_s - 1_000, operation))
        now_s += operation.seconds if isinstance(operation, Idle) else 0.05
        operation = operations.send(replace(READ, now_s=now_s))
    ends = [(at, each) for at, each in done if isinstance(each, Leave | Crash)]
    settled_at = RESTLESS_S + SETTLED_S
    in_calm = [(at, each) for at, each in ends if settled_at < at < RESTLESS_S + CALM_S]
    assert [type(each) for _, each in in_calm] == [Crash] * (process == 6)
    assert any(at < RESTLESS_S for at, _ in ends) and ends[-1][0] > RESTLESS_S + CALM_S
    away = [each for at, each in done if settled_at + 1 < at < RESTLESS_S + CALM_S]
    assert all(isinstance(each, Send if process == 6 else Poll | CommitOffsets) for each in away)
