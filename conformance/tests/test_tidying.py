"""Cases leave nothing on a cluster that is not ours, and take nothing of others."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.clients.wire.admin import Admin
from chaos.clients.wire.wire_link import WireCluster
from chaos.means.ports import free_ports
from chaos.means.real_world import REAL_WORLD, run
from chaos.targets import parse_target
from chaos.values.faults import Kill
from chaos.values.protocols import TopicSpec
from conformance.cases.quotas.quotas import ALTER, entry
from conformance.cases.security.secured_wire import errors_by_user, upsertion
from conformance.target.examination import Examined
from conformance.tests.breaking import Spoiling, breaking_proxy
from conformance.wire import Wire, batch
from reference_impl.robustness.process import BrokerProcess
from reference_impl.wire import ApiKey

WAIT_S = 30.0
IN_A_HURRY_S = 10.0
"""Half a second, on a busy machine."""


@pytest.fixture
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    cluster = parse_target("reference").start(tmp_path_factory.mktemp("cluster"))
    yield cluster.bootstrap
    cluster.stop()


def users(bootstrap: str) -> set[str]:
    cluster = WireCluster(REAL_WORLD, bootstrap)
    scram = run(cluster.ask_any(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, users=None))
    quotas = run(cluster.ask_any(ApiKey.DESCRIBE_CLIENT_QUOTAS, components=[], strict=False))
    cluster.close()
    limited = {part.entity_name for each in quotas.entries for part in each.entity}
    return {row.user for row in scram.results} | limited


def make(wire: Wire, user: str) -> None:
    for name in ("AlterUserScramCredentials", ALTER):
        assert name in wire.advertised
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        row = upsertion(user, mechanism, "secret")
        answer = wire.call("AlterUserScramCredentials", upsertions=[row])
        assert set(errors_by_user(answer).values()) == {0}
    answer = wire.call(ALTER, entries=[entry({"user": user}, producer_byte_rate=1e6)])
    assert [each.error_code for each in answer.entries] == [0]


def test_topics_users_and_quotas_of_the_cases_go_and_those_of_others_stay(bootstrap: str) -> None:
    admin = Admin(REAL_WORLD, bootstrap)
    run(admin.create_topics([TopicSpec("theirs", 1)], 1, WAIT_S))
    examined = Examined.start(None, bootstrap, None, None)
    wire = Wire(examined.bootstrap, examined.advertised)
    topic = wire.create_topic()
    assert wire.produce(topic, batch(b"no nonce in it").encode()).error_code == 0
    for user in ("theirs", wire.new_name("user")):
        make(wire, user)
    assert len(run(admin.topic_ids())) == 3
    assert len(users(bootstrap)) == 2
    wire.close()
    examined.stop()
    assert set(run(admin.topic_ids())) == {"theirs"}
    assert users(bootstrap) == {"theirs"}
    admin.close()


def test_nodes_that_are_down_at_the_end_are_brought_back_first(tmp_path: Path) -> None:
    """The owner's broker ran before; what the cases made on it is gone afterwards."""
    (port,) = free_ports(1)
    at = f"PLAINTEXT://127.0.0.1:{port}"
    (tmp_path / "start.sh").write_text(
        f"echo $$ > broker.pid; exec {sys.executable} -m reference_impl.host --data data"
        f" --config listeners={at} --config advertised.listeners={at}\n"
    )
    file = tmp_path / "touchstone.toml"
    file.write_text(
        f'[[node]]\naddress = "127.0.0.1:{port}"\nstart = "sh start.sh"\npid_file = "broker.pid"\n'
    )
    keeper = parse_target(str(file)).start(tmp_path / "keeper")
    try:
        examined = Examined.start(str(file), None, None, None)
        wire = Wire(examined.bootstrap, examined.advertised)
        wire.create_topic()
        wire.close()
        examined.cluster.perform(Kill("all"))
        examined.stop()
        admin = Admin(REAL_WORLD, f"127.0.0.1:{port}")
        assert not run(admin.topic_ids())
        admin.close()
    finally:
        keeper.stop()


def test_a_target_of_our_own_is_not_marked() -> None:
    examined = Examined.start("reference", None, None, None)
    admin = Admin(REAL_WORLD, examined.bootstrap)
    assert not run(admin.topic_ids())
    admin.close()
    examined.stop()


def test_a_cluster_that_keeps_no_marker_is_examined_all_the_same(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def serves(_: WireCluster, api: ApiKey) -> bool:
        return api is not ApiKey.DELETE_TOPICS

    monkeypatch.setattr(WireCluster, "serves", serves)
    examined = Examined.start(None, bootstrap, None, None)
    examined.stop()
    told = capsys.readouterr().err.splitlines()
    assert told == [
        "conformance: what the cases make stays on the cluster, since it cannot be marked: the"
        " cluster does not serve DELETE_TOPICS"
    ]


@pytest.mark.parametrize(
    ("api", "spoiling"),
    [
        (ApiKey.FETCH, Spoiling.SIZE),
        *(
            pytest.param(api, spoiling, marks=pytest.mark.nightly)
            for api in (ApiKey.METADATA, ApiKey.FETCH, ApiKey.DELETE_TOPICS, ApiKey.LIST_GROUPS)
            for spoiling in Spoiling
            if (api, spoiling) != (ApiKey.FETCH, Spoiling.SIZE)
        ),
    ],
)
def test_a_broker_whose_answers_are_nonsense_delays_the_end_by_seconds_only(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    api: ApiKey,
    spoiling: Spoiling,
) -> None:
    """Each request would be repeated for 30 s, and each topic asked for by itself."""
    with breaking_proxy() as proxy:
        advertised = f"advertised.listeners=PLAINTEXT://127.0.0.1:{proxy.port}"
        with BrokerProcess(tmp_path / "data", "--config", advertised) as broker:
            proxy.broker = broker.host, broker.port
            examined = Examined.start(None, f"127.0.0.1:{proxy.port}", None, None)
            wire = Wire(examined.bootstrap, examined.advertised)
            for _ in range(3):
                wire.create_topic()
            wire.close()
            proxy.api_key, proxy.spoiling = api, spoiling
            started = time.monotonic()
            examined.stop(0.5)
            assert time.monotonic() - started < IN_A_HURRY_S
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("conformance: could not remove what the cases have made (touchstone-")
    assert line.endswith("; the next examination or run on this cluster tries again")
