"""Test members of consumer groups by the reference client, against a real broker process."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.clients import payload
from chaos.clients.reference.client import ReferenceClient
from chaos.clients.wire.admin import Admin
from chaos.means.real_world import REAL_WORLD, run
from chaos.record.run_directory import Scenario
from chaos.targets import parse_target
from chaos.tests.storms import run_until_shown
from chaos.values.protocols import (
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
    Send,
    Subscribe,
    TopicSpec,
)
from chaos.workloads import WORKLOADS
from chaos.workloads.groups import ConsumerGroups
from linearizability.judging import check
from linearizability.verdict import Validity

NONCE = payload.nonce_of("test")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("cluster")
    started = parse_target("reference").start(directory, 1, ConsumerGroups.config)
    yield started
    started.stop()


@pytest.fixture
def topic(request: pytest.FixtureRequest, cluster: Cluster) -> str:
    """Provide a topic with two values."""
    name = re.sub("[^a-z0-9]+", "-", str(request.node.name))
    admin = Admin(REAL_WORLD, cluster.bootstrap)
    run(admin.create_topics([TopicSpec(name, 1)], 1, timeout_s=120.0))
    admin.close()
    send(cluster, name, 1, 2)
    return name


def send(cluster: Cluster, topic: str, *values: int) -> None:
    client = ReferenceClient(REAL_WORLD, cluster.bootstrap, ClientSettings(), NONCE)
    assert run(client.perform(Send(topic, 0, values))).outcome is Outcome.OK
    run(client.close())


def member(
    cluster: Cluster,
    topic: str,
    auto_commit: bool = False,
    kind: tuple[GroupProtocol, str] = (GroupProtocol.CONSUMER, "uniform"),
) -> ReferenceClient:
    """Return a member of a group that has the same name as its topic."""
    group = GroupSettings(topic, *kind, auto_commit)
    client = ReferenceClient(REAL_WORLD, cluster.bootstrap, ClientSettings(group=group), NONCE)
    assert run(client.perform(Subscribe((topic,)))).outcome is Outcome.OK
    return client


def poll_for_records(client: ReferenceClient) -> list[Completion]:
    """Return the polls of a member, up to the first that returned records."""
    polls: list[Completion] = []
    deadline = time.monotonic() + 60
    while not polls or not polls[-1].records:
        assert time.monotonic() < deadline, polls
        polls.append(run(client.perform(Poll())))
    return polls


def values(poll: Completion) -> list[int | None]:
    return [record.value for record in poll.records]


@pytest.mark.parametrize(
    "kind",
    [
        (GroupProtocol.CONSUMER, "uniform"),
        (GroupProtocol.CLASSIC, "range"),
        (GroupProtocol.CLASSIC, "cooperative-sticky"),
    ],
    ids="-".join,
)
def test_a_successor_goes_on_behind_what_was_committed(
    cluster: Cluster, topic: str, kind: tuple[GroupProtocol, str]
) -> None:
    first = member(cluster, topic, kind=kind)
    polls = poll_for_records(first)
    assert values(polls[-1]) == [1, 2]
    assert [poll.rebalanced for poll in polls].count(True) == 1
    assert polls[-1].columns["member_id"] and polls[-1].columns["generation"] >= 1
    committed = run(first.perform(CommitOffsets()))
    assert [(r.offset, r.outcome) for r in committed.records] == [(2, Outcome.OK)]
    assert committed.columns == polls[-1].columns
    assert run(first.perform(CommitOffsets())).records == ()  # there is nothing new
    assert run(first.perform(Leave())).outcome is Outcome.OK
    nothing = run(first.perform(Poll()))
    assert (nothing.outcome, nothing.error) == (Outcome.FAIL, "_STATE")
    send(cluster, topic, 3)
    assert run(first.perform(Subscribe((topic,)))).outcome is Outcome.OK
    again = poll_for_records(first)[-1]
    assert values(again) == [3]
    assert again.columns["member_id"] != committed.columns["member_id"]
    run(first.close())


def test_who_crashes_commits_nothing_and_the_group_learns_of_it_by_silence(
    cluster: Cluster, topic: str
) -> None:
    crashing = member(cluster, topic, auto_commit=True)
    assert values(poll_for_records(crashing)[-1]) == [1, 2]
    run(crashing.perform(Crash()))
    began = time.monotonic()
    successor = member(cluster, topic)
    assert values(poll_for_records(successor)[-1]) == [1, 2]
    assert time.monotonic() - began > 3.0  # a member that leaves is gone at once
    run(successor.close())
    run(crashing.close())


@pytest.mark.nightly
@pytest.mark.needs("toxiproxy")
def test_a_short_storm_over_their_groups_is_valid(tmp_path: Path) -> None:
    name = "groups-consumer-positions"
    scenario = Scenario("reference", name, "kill", 1, 6.0, seed=5, client="reference")
    result = run_until_shown(scenario, tmp_path)
    judged_by = WORKLOADS[name].judged_by
    verdict = check(result.directory, engine="local", named_by_workload=judged_by)
    assert (result.problems, result.recovered) == ((), True)
    assert (verdict.validity, verdict.reason) == (Validity.VALID, None)
