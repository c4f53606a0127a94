"""Test Apache Kafka's own clients as clients of a run, against a real broker process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from chaos.clients import payload
from chaos.clients.java.client import JavaClient, JavaFactory
from chaos.clients.java.host import HostError, JavaHost
from chaos.clients.wire.admin import Admin
from chaos.means.real_world import REAL_WORLD, run
from chaos.targets import parse_target
from chaos.values.protocols import (
    Abort,
    Assign,
    Begin,
    ClientSettings,
    Cluster,
    Commit,
    CommitOffsets,
    Completion,
    Crash,
    GroupProtocol,
    GroupSettings,
    Isolation,
    Leave,
    Outcome,
    Poll,
    ReadAll,
    Send,
    Subscribe,
    TopicSpec,
)

pytestmark = pytest.mark.needs("jdk", "kafka-jars")
NONCE = payload.nonce_of("test")
PLAIN, TXN = ("plain", 0), ("txn", 0)
TRANSACTIONAL = ClientSettings(transactional=True, transactional_id="x")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = parse_target("reference").start(tmp_path_factory.mktemp("cluster"))
    try:
        admin = Admin(REAL_WORLD, started.bootstrap)
        run(admin.create_topics([TopicSpec("plain", 1), TopicSpec("txn", 1)], 1, timeout_s=120.0))
        admin.close()
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="module")
def factory(cluster: Cluster) -> Iterator[JavaFactory]:
    """One Java process for all tests: a client that is not closed keeps it."""
    made = JavaFactory(REAL_WORLD, NONCE)
    keeper = made(cluster.bootstrap, 0, ClientSettings())
    yield made
    run(keeper.close())


def values(completion: Completion) -> list[int | None]:
    return [record.value for record in completion.records if record.offset is not None]


def polled(client: JavaClient, count: int) -> list[int | None]:
    got: list[int | None] = []
    for _ in range(40):
        got += values(run(client.perform(Poll())))
        if len(got) >= count:
            break
    return got


def test_dressed_records_come_back_as_they_were_sent(
    cluster: Cluster, factory: JavaFactory
) -> None:
    client = factory(cluster.bootstrap, 1, ClientSettings(compression="zstd"))
    sent = run(client.perform(Send("plain", 0, (1, 2, 3), filling=(0, 10, 50_000))))
    assert (sent.outcome, [r.offset for r in sent.records]) == (Outcome.OK, [0, 1, 2])
    assert run(client.perform(Assign((PLAIN,)))).outcome is Outcome.OK
    assert polled(client, 3) == [1, 2, 3]
    whole = run(client.perform(ReadAll((PLAIN,))))
    assert (whole.outcome, values(whole)) == (Outcome.OK, [1, 2, 3])
    run(client.close())


def test_transactions_end_as_asked_and_a_successor_fences_its_predecessor(
    cluster: Cluster, factory: JavaFactory
) -> None:
    first = factory(cluster.bootstrap, 2, TRANSACTIONAL)
    for operation in (Begin(), Send("txn", 0, (1, 2)), Commit(), Begin(), Send("txn", 0, (3,))):
        assert run(first.perform(operation)).outcome is Outcome.OK
    assert run(first.perform(Abort())).outcome is Outcome.OK
    second = factory(cluster.bootstrap, 2, TRANSACTIONAL)
    for operation in (Begin(), Send("txn", 0, (4,)), Commit()):
        assert run(second.perform(operation)).outcome is Outcome.OK
    assert run(first.perform(Begin())).outcome is Outcome.OK
    assert run(first.perform(Send("txn", 0, (5,)))).outcome is not Outcome.OK
    assert run(first.perform(Abort())).broken
    run(first.close())
    committed = run(second.perform(ReadAll((TXN,), Isolation.READ_COMMITTED)))
    assert values(committed) == [1, 2, 4]
    run(second.close())


def test_the_process_ends_with_its_last_client_and_says_so_to_who_asks_still() -> None:
    host = JavaHost()
    client = host.enter()
    process = host.process
    assert process is not None and process.poll() is None
    assert host.ask(client, "no such thing", 30.0)["error"] == "_IllegalArgumentException"
    said: list[str] = []

    def ask() -> None:
        try:
            host.ask(client, "init_transactions", 30.0)
        except HostError as error:
            said.append(str(error))

    process.kill()
    asker = threading.Thread(target=ask)
    asker.start()
    asker.join(30.0)
    assert said and not asker.is_alive()
    host.leave(client)
    assert host.process is None


def poll_until(member: JavaClient, is_enough: Callable[[Completion], bool]) -> list[Completion]:
    """Return the polls of a member, up to the first for which `is_enough` is true."""
    polls: list[Completion] = []
    while not polls or not is_enough(polls[-1]):
        assert len(polls) < 200
        polls.append(run(member.perform(Poll(0.1))))
        assert polls[-1].outcome is Outcome.OK, polls[-1]
    return polls


def has_records(poll: Completion) -> bool:
    return bool(poll.records)


@pytest.mark.parametrize("protocol", list(GroupProtocol))
def test_a_member_commits_leaves_and_its_successor_goes_on_behind_it(
    cluster: Cluster, factory: JavaFactory, protocol: GroupProtocol
) -> None:
    topic = f"members-{protocol}"
    admin = Admin(REAL_WORLD, cluster.bootstrap)
    run(admin.create_topics([TopicSpec(topic, 1)], 1, timeout_s=120.0))
    admin.close()
    producer = factory(cluster.bootstrap, 3, ClientSettings())
    assert run(producer.perform(Send(topic, 0, (1, 2)))).outcome is Outcome.OK
    assignor = "range" if protocol is GroupProtocol.CLASSIC else "uniform"
    group = GroupSettings(f"group-{protocol}", protocol, assignor, auto_commit=False)
    member = factory(cluster.bootstrap, 4, ClientSettings(group=group))
    assert run(member.perform(Subscribe((topic,)))).outcome is Outcome.OK
    polls = poll_until(member, has_records)
    assert values(polls[-1]) == [1, 2]
    assert any(poll.rebalanced for poll in polls)
    committed = run(member.perform(CommitOffsets()))
    assert [(r.offset, r.outcome) for r in committed.records] == [(2, Outcome.OK)]
    assert committed.columns == polls[-1].columns
    assert committed.columns["member_id"] and committed.columns["generation"] > 0
    assert run(member.perform(Leave())).outcome is Outcome.OK
    assert run(producer.perform(Send(topic, 0, (3,)))).outcome is Outcome.OK
    run(member.perform(Subscribe((topic,))))
    again = poll_until(member, has_records)[-1]
    assert values(again) == [3]
    assert again.columns["member_id"] != committed.columns["member_id"]
    assert run(member.perform(Crash())).outcome is Outcome.OK
    for each in (member, producer):
        run(each.close())
