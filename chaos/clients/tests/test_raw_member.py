"""Test what the history records of a raw group member's requests, against a real broker process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chaos.clients import payload
from chaos.clients.wire.admin import Admin
from chaos.clients.wire.operator import Operator
from chaos.means.real_world import REAL_WORLD, run
from chaos.targets import parse_target
from chaos.values.operations import LiveAsMember
from chaos.values.protocols import Cluster, Completion, GroupProtocol, Outcome, TopicSpec
from chaos.workloads.sessions import SESSION_MS, Sessions

TOPIC = TopicSpec("of-a-member", 1)
SESSION_S = SESSION_MS / 1000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    config = dict(Sessions.config)
    started = parse_target("reference").start(tmp_path_factory.mktemp("cluster"), 1, config)
    try:
        admin = Admin(REAL_WORLD, started.bootstrap)
        run(admin.create_topics([TOPIC], 1, timeout_s=120.0))
        admin.close()
        yield started
    finally:
        started.stop()


def lived(cluster: Cluster, protocol: GroupProtocol, *pauses_s: float) -> Completion:
    operator = Operator(REAL_WORLD, cluster.bootstrap, payload.nonce_of("test"))
    group = f"{protocol}-{len(pauses_s)}"
    operation = LiveAsMember(group, TOPIC.name, protocol, SESSION_MS, pauses_s)
    done = run(operator.perform(operation))
    run(operator.close())
    return done


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_a_member_that_left_is_told_that_it_is_none(
    cluster: Cluster, protocol: GroupProtocol
) -> None:
    done = lived(cluster, protocol, 0.1, 0.1)
    assert done.outcome is Outcome.OK
    told = [(row["f"], row["type"]) for row in done.more_rows]
    stays = [("heartbeat", "ok")] * 3
    assert told == [*stays, ("leave", "ok"), ("heartbeat", "fail")]
    assert len({row["member_id"] for row in done.more_rows}) == 1


def test_a_member_of_a_classic_group_is_told_that_another_joins(cluster: Cluster) -> None:
    operator = Operator(REAL_WORLD, cluster.bootstrap, payload.nonce_of("test"))
    classic = GroupProtocol.CLASSIC
    operation = LiveAsMember("met", TOPIC.name, classic, SESSION_MS, (0.1,), meets_newcomer=True)
    for _ in range(2):  # both members left, so that the group can be joined again
        done = run(operator.perform(operation))
        assert done.outcome is Outcome.OK
        told = [(row["error"], row.get("asked")) for row in done.more_rows]
        assert told[:2] == [(None, None)] * 2
        assert told[-3] == ("REBALANCE_IN_PROGRESS", "joining")
        assert told[-2:] == [(None, None), ("UNKNOWN_MEMBER_ID", None)]
        assert [row["f"] for row in done.more_rows][-2:] == ["leave", "heartbeat"]
    run(operator.close())


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_a_member_that_is_silent_for_longer_than_its_session_is_none(
    cluster: Cluster, protocol: GroupProtocol
) -> None:
    done = lived(cluster, protocol, SESSION_S + 1.0)
    assert [(row["f"], row["type"]) for row in done.more_rows] == [
        ("heartbeat", "ok"),
        ("heartbeat", "fail"),
    ]
