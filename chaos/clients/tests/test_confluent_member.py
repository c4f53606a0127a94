"""Test members of groups by confluent-kafka against a real broker process, the reference."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from chaos.clients import payload
from chaos.clients.confluent import member as confluent_member
from chaos.clients.confluent.client import ConfluentClient
from chaos.clients.membership_rows import MembershipRows, group_settings
from chaos.clients.wire.admin import Admin
from chaos.clients.wire.wire_link import LATEST, READ_COMMITTED, WireCluster
from chaos.means.real_world import REAL_WORLD, run
from chaos.record.run_directory import Scenario
from chaos.targets import parse_target
from chaos.tests.storms import run_until_shown
from chaos.values.protocols import (
    Begin,
    ClientSettings,
    Cluster,
    CommitOffsets,
    Completion,
    Crash,
    GroupProtocol,
    GroupSettings,
    Leave,
    Outcome,
    Poll,
    Record,
    Send,
    Subscribe,
    TopicSpec,
)
from chaos.workloads import WORKLOADS
from chaos.workloads.groups import ConsumerGroups
from linearizability.judging import check
from linearizability.verdict import Validity

NONCE = payload.nonce_of("test")
TOPIC, TRANSACTIONAL = "members", "transacting"
FIRST = {1, 2, 3, 4, 5, 6}
KINDS = [("classic", "range"), ("classic", "cooperative-sticky"), ("consumer", "uniform")]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    config = {**ConsumerGroups.config, "group.initial.rebalance.delay.ms": "0"}
    started = parse_target("reference").start(tmp_path_factory.mktemp("cluster"), 1, config)
    try:
        admin = Admin(REAL_WORLD, started.bootstrap)
        run(
            admin.create_topics(
                [TopicSpec(TOPIC, 2), TopicSpec(TRANSACTIONAL, 1)], 1, timeout_s=120.0
            )
        )
        admin.close()
        sender = ConfluentClient(REAL_WORLD, started.bootstrap, ClientSettings(), NONCE)
        for partition, values in ((0, (1, 2, 3)), (1, (4, 5, 6))):
            assert run(sender.perform(Send(TOPIC, partition, values))).outcome is Outcome.OK
        run(sender.close())
        yield started
    finally:
        started.stop()


def member(
    cluster: Cluster, group: str, kind: tuple[str, str], auto_commit: bool = False
) -> ConfluentClient:
    settings = GroupSettings(group, GroupProtocol(kind[0]), kind[1], auto_commit)
    client = ConfluentClient(REAL_WORLD, cluster.bootstrap, ClientSettings(group=settings), NONCE)
    assert run(client.perform(Subscribe((TOPIC,)))).outcome is Outcome.OK
    return client


def poll_until(
    client: ConfluentClient, done: Callable[[list[Completion]], bool]
) -> list[Completion]:
    """Poll until `done` is true of the polls, within a time limit. Return the polls."""
    polls: list[Completion] = []
    deadline = time.monotonic() + 60
    while not done(polls):
        assert time.monotonic() < deadline, polls
        polls.append(run(client.perform(Poll())))
    return polls


def values(polls: list[Completion]) -> list[int]:
    return sorted(r.value for poll in polls for r in poll.records if r.value is not None)


def starts(polls: list[Completion]) -> set[tuple[int, int | None]]:
    """Partition and offset of each position row; all of them came with an assignment."""
    told = [row for poll in polls for row in poll.more_rows if row["f"] == "position"]
    assert all(row["asked_offset"] == row["offset"] for row in told)
    owned = {row["partition"] for poll in polls for row in poll.more_rows if row["f"] == "owned"}
    assert {row["partition"] for row in told} <= owned
    return {(row["partition"], row["offset"]) for row in told}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[1])
def test_a_successor_goes_on_behind_what_was_committed(
    cluster: Cluster, kind: tuple[str, str]
) -> None:
    first = member(cluster, f"g-{kind[1]}", kind)
    end = 3 + KINDS.index(kind)  # each kind sends one value to partition 0
    polls = poll_until(first, lambda polls: len(values(polls)) >= end + 3)
    assert set(values(polls)) >= FIRST
    assert any(poll.rebalanced for poll in polls)
    read = next(poll for poll in polls if poll.records)
    assert read.columns["member_id"] and read.columns["generation"] >= 1
    committed = run(first.perform(CommitOffsets()))
    assert committed.outcome is Outcome.OK
    assert {(r.partition, r.offset) for r in committed.records} == {(0, end), (1, 3)}
    assert run(first.perform(CommitOffsets())).records == ()  # there is nothing new
    assert run(first.perform(Leave())).outcome is Outcome.OK
    run(first.close())

    sender = ConfluentClient(REAL_WORLD, cluster.bootstrap, ClientSettings(), NONCE)
    assert run(sender.perform(Send(TOPIC, 0, (10 + end,)))).records[0].offset == end
    run(sender.close())
    second = member(cluster, f"g-{kind[1]}", kind)
    went_on = poll_until(second, lambda polls: len(values(polls)) > 0)
    assert values(went_on) == [10 + end]
    assert starts(polls) == {(0, None), (1, None)}
    assert starts(went_on) == {(0, end), (1, 3)}
    run(second.close())


def test_who_crashes_commits_nothing_and_the_group_learns_of_it_by_silence(
    cluster: Cluster,
) -> None:
    kind = ("consumer", "uniform")
    crashing = member(cluster, "crashing", kind, auto_commit=True)
    polls = poll_until(crashing, lambda polls: len(values(polls)) >= 1)
    run(crashing.perform(Crash()))
    began = time.monotonic()
    successor = member(cluster, "crashing", kind)
    again = poll_until(successor, lambda polls: set(values(polls)) >= FIRST)
    assert time.monotonic() - began > 3.0  # a member that leaves is gone at once
    assert set(values(again)) >= set(values(polls))
    run(successor.close())
    run(crashing.close())


def test_a_member_that_crashes_leaves_its_transaction_to_the_next_client(cluster: Cluster) -> None:
    settings = ClientSettings(
        transactional=True,
        transactional_id="crashing",
        group=GroupSettings("transacting", GroupProtocol.CLASSIC, "range", auto_commit=False),
    )
    wire = WireCluster(REAL_WORLD, cluster.bootstrap)

    def ends() -> tuple[int, int]:
        leader = run(wire.leader(TRANSACTIONAL, 0))
        stable = run(wire.offset(leader, TRANSACTIONAL, 0, LATEST, READ_COMMITTED))
        return stable, run(wire.offset(leader, TRANSACTIONAL, 0, LATEST))

    def begun() -> ConfluentClient:
        client = ConfluentClient(REAL_WORLD, cluster.bootstrap, settings, NONCE)
        assert run(client.perform(Subscribe((TOPIC,)))).outcome is Outcome.OK
        assert run(client.perform(Begin())).outcome is Outcome.OK
        return client

    crashing = begun()
    assert run(crashing.perform(Send(TRANSACTIONAL, 0, (1,)))).outcome is Outcome.OK
    crashed = run(crashing.perform(Crash()))
    assert (crashed.outcome, crashed.broken) == (Outcome.OK, True)
    run(crashing.close())
    assert ends() == (0, 1)
    successor = begun()
    assert ends() == (2, 2)
    run(successor.close())
    wire.close()


def test_a_member_that_is_none_is_told(cluster: Cluster) -> None:
    client = member(cluster, "none", ("classic", "range"))
    assert run(client.perform(Leave())).outcome is Outcome.OK
    nothing = run(client.perform(Poll()))
    assert (nothing.outcome, nothing.error) == (Outcome.FAIL, "_STATE")
    assert run(client.perform(Leave())).outcome is Outcome.OK
    run(client.close())


@pytest.mark.needs("toxiproxy")
class Joining:
    """A consumer of confluent-kafka that imitates a rebalance during a poll: it joins, gets a
    record, and is rebalanced again."""

    def __init__(self, config: Mapping[str, object]) -> None:
        self.polls = 0

    def subscribe(self, topics: list[str], on_assign: Any, on_revoke: Any, on_lost: Any) -> None:
        self.assigned = on_assign

    def poll(self, timeout_s: float) -> object:
        self.polls += 1
        self.assigned(self, [])
        return Mock(error=lambda: None, leader_epoch=lambda: 0) if self.polls == 1 else None

    def memberid(self) -> str:
        return "me" if self.polls else ""

    def consumer_group_metadata(self) -> None: ...

    def store_offsets(self, message: object) -> None: ...

    def assign(self, partitions: list[object]) -> None: ...


def test_a_record_is_told_with_the_member_that_took_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confluent_member, "Consumer", Joining)
    record = Record(TOPIC, 0, None, 0, Outcome.OK)
    monkeypatch.setattr(confluent_member, "record_of", lambda message, nonce: record)
    group = GroupSettings("joining", GroupProtocol.CLASSIC, "range", False)
    settings = ClientSettings(group=group)
    client = confluent_member.ConfluentMember(REAL_WORLD, "", settings, group, NONCE)
    client.subscribe(Subscribe((TOPIC,)))
    polled = client.poll(Poll())
    assert polled.records == [record]
    assert polled.columns["member_id"] == "me"


@pytest.mark.parametrize(("protocol", "told"), [("classic", 5), ("consumer", None)])
def test_what_a_member_owns_is_of_a_generation_by_the_classic_protocol_alone(
    protocol: str, told: int | None
) -> None:
    """A member's rows have a generation only under the classic protocol. Under KIP-848 the epoch
    belongs to the member, whose listener may still get an older assignment later."""
    settings = group_settings(GroupSettings("g", GroupProtocol(protocol), "range", False))
    rows = MembershipRows(REAL_WORLD, settings)
    rows.assigned({("t", 0): None}, [("t", 0)], {"member_id": "m", "generation": 5})
    owned, position = rows.take()
    assert (owned["f"], owned["generation"], owned["member_id"]) == ("owned", told, "m")
    assert (position["f"], position["generation"]) == ("position", 5)


@pytest.mark.nightly
def test_a_short_storm_over_groups_is_valid(tmp_path: Path) -> None:
    scenario = Scenario("reference", "groups-consumer", "kill", 1, 8.0, seed=5)
    result = run_until_shown(scenario, tmp_path)
    judged_by = WORKLOADS["groups-consumer"].judged_by
    verdict = check(result.directory, engine="local", named_by_workload=judged_by)
    assert (result.problems, result.recovered) == ((), True)
    assert (verdict.validity, verdict.reason) == (Validity.VALID, None)
