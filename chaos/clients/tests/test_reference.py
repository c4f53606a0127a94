"""Test the reference clients as clients of a run, against a real broker process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.clients import payload
from chaos.clients.factories import CLIENTS, clients_named
from chaos.clients.reference.client import ReferenceClient
from chaos.clients.wire.admin import Admin
from chaos.means.real_world import REAL_WORLD, run
from chaos.record.run_directory import Scenario
from chaos.targets import parse_target
from chaos.tests.storms import run_until_shown
from chaos.values.protocols import (
    Abort,
    Assign,
    Begin,
    ClientSettings,
    Cluster,
    Commit,
    Completion,
    Isolation,
    Operation,
    Outcome,
    Poll,
    ReadAll,
    Send,
    TargetError,
    TopicSpec,
)
from linearizability.judging import check
from linearizability.verdict import Validity

NONCE = payload.nonce_of("test")
PARTITIONS = (("plain", 0), ("plain", 1))
TXN = (("txn", 0),)
TRANSACTIONAL = ClientSettings(transactional=True, transactional_id="x")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = parse_target("reference").start(tmp_path_factory.mktemp("cluster"))
    try:
        admin = Admin(REAL_WORLD, started.bootstrap)
        run(admin.create_topics([TopicSpec("plain", 2), TopicSpec("txn", 1)], 1, timeout_s=120.0))
        admin.close()
        yield started
    finally:
        started.stop()


def perform(
    cluster: Cluster, *operations: Operation, settings: ClientSettings | None = None
) -> list[Completion]:
    """Perform the operations with one new client, and close it. Return the completions."""
    client = ReferenceClient(REAL_WORLD, cluster.bootstrap, settings or ClientSettings(), NONCE)
    try:
        return [run(client.perform(operation)) for operation in operations]
    finally:
        run(client.close())


def values(completion: Completion) -> list[int | None]:
    return [record.value for record in completion.records if record.offset is not None]


def test_what_is_sent_is_polled_and_read_to_the_end(cluster: Cluster) -> None:
    sent = perform(cluster, Send("plain", 0, (1, 2, 3)), Send("plain", 1, (4,)))
    assert [completion.outcome for completion in sent] == [Outcome.OK, Outcome.OK]
    assert [record.offset for record in sent[0].records] == [0, 1, 2]
    client = ReferenceClient(REAL_WORLD, cluster.bootstrap, ClientSettings(), NONCE)
    assert run(client.perform(Assign(PARTITIONS))).outcome is Outcome.OK
    got: list[int | None] = []
    for _ in range(40):
        got += values(run(client.perform(Poll())))
        if len(got) == 4:
            break
    run(client.close())
    assert sorted(value or 0 for value in got) == [1, 2, 3, 4]
    (whole,) = perform(cluster, ReadAll(PARTITIONS))
    assert whole.outcome is Outcome.OK
    assert sorted(value or 0 for value in values(whole)) == [1, 2, 3, 4]
    statements = [
        (record.partition, record.extra["log_start"], record.extra["high_watermark"])
        for record in whole.records
        if record.extra.get("f") == "read_all"
    ]
    assert statements == [(0, 0, 3), (1, 0, 1)]


def test_transactions_end_as_asked_and_a_successor_breaks_its_predecessor(cluster: Cluster) -> None:
    first = ReferenceClient(REAL_WORLD, cluster.bootstrap, TRANSACTIONAL, NONCE)
    for operation in (Begin(), Send("txn", 0, (1, 2)), Commit(), Begin(), Send("txn", 0, (3,))):
        assert run(first.perform(operation)).outcome is Outcome.OK
    assert run(first.perform(Abort())).outcome is Outcome.OK
    done = perform(cluster, Begin(), Send("txn", 0, (4,)), Commit(), settings=TRANSACTIONAL)
    assert {completion.outcome for completion in done} == {Outcome.OK}
    # KIP-588: an old epoch asks for an abort, which then says that there is a successor.
    assert run(first.perform(Begin())).outcome is Outcome.OK
    assert run(first.perform(Send("txn", 0, (5,)))).records[0].error == "INVALID_PRODUCER_EPOCH"
    assert not run(first.perform(Commit())).broken
    assert run(first.perform(Abort())).broken
    run(first.close())
    committed, everything = perform(cluster, ReadAll(TXN, Isolation.READ_COMMITTED), ReadAll(TXN))
    assert values(committed) == [1, 2, 4]
    assert values(everything) == [1, 2, 3, 4]


def test_a_record_that_never_left_has_certainly_failed() -> None:
    client = ReferenceClient(
        REAL_WORLD, "127.0.0.1:1", ClientSettings(delivery_timeout_ms=500), NONCE
    )
    completion = run(client.perform(Send("t", 0, (1,))))
    run(client.close())
    assert (completion.outcome, completion.error) == (Outcome.FAIL, "TIMEOUT")


def test_a_client_that_is_not_known_is_one_sentence() -> None:
    assert set(CLIENTS) == {"confluent", "java", "reference"}
    with pytest.raises(TargetError, match=r"unknown client 'referense' \(did you mean"):
        clients_named("referense")


def test_the_command_names_the_client() -> None:
    scenario = Scenario("reference", "appends", "kill", 1, 5, 1, client="reference")
    assert "--client reference" in scenario.command()
    assert "--client" not in Scenario("reference", "appends", "kill", 1, 5, 1).command()


@pytest.mark.needs("toxiproxy")
def test_a_short_storm_with_reference_clients_is_valid(tmp_path: Path) -> None:
    # In 10 s none of these clients shows a transaction that outlives its time-out.
    scenario = Scenario("reference", "transactions", "kill", 1, 20.0, seed=5, client="reference")
    result = run_until_shown(scenario, tmp_path)
    verdict = check(result.directory, engine="local", named_by_workload=("lost_writes",))
    assert (result.problems, result.recovered) == ((), True)
    assert (verdict.validity, verdict.reason) == (Validity.VALID, None)
