"""Test how the status of a cluster is shown, and that clusters can be asked for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from chaos.clients.wire.wire_link import WireCluster
from chaos.means.real_world import REAL_WORLD, run
from chaos.probes.asking import append, make_topic
from chaos.targets import parse_target
from chaos.targets.clusters.kraft import KraftCluster
from ci.cli import app
from ci.commands.operating import steps_in
from ci.errors import UsageError
from ci.status.asking import PartitionStatus, QuorumStatus, Replica, Status, status_of
from ci.status.showing import as_document, as_lines
from ci.tests.schema import unknown_properties, violations

STATUS = Status(
    "MkU3OEVBNTcwNTJENDM2Qk",
    {1: ("127.0.0.1", 9092), 3: ("b3", 9094)},
    QuorumStatus(3, 7, 40, {1: 41, 3: 41}, {4: 39}),
    (
        PartitionStatus("t", 0, 1, 5, (1,), (3,), (Replica(1, 9, 8), Replica(2), Replica(3, 4, 4))),
        PartitionStatus("t", 1, -1, 6, (), (), (Replica(2),)),
    ),
    {2: "it is not among the living brokers"},
    {"data/1": [{"ms": 34.2, "at_ms": 1_700_000_000_000, "event": "Produce version 13"}]},
)


def test_each_replica_has_a_line() -> None:
    assert list(as_lines(STATUS)) == [
        "cluster MkU3OEVBNTcwNTJENDM2Qk: brokers 1 at 127.0.0.1:9092, 3 at b3:9094",
        "quorum: node 3 leads in epoch 7, high watermark 40; voters 1 at 41, 3 at 41;"
        " observers 4 at 39",
        "PARTITION  LEADER  EPOCH  ISR  ELR  REPLICA  LOG END  HIGH WM  LAG",
        "t-0        1       5      1    3    1        9        8        0",
        "                                    2        ?        ?        ?",
        "                                    3        4        4        5",
        "t-1        none    6      -    -    2        ?        ?        ?",
        "broker 2 does not report all its replicas: it is not among the living brokers",
        "longest steps of the node in data/1, during which it answered nobody:",
        "      34.2 ms  Produce version 13, 2023-11-14 22:13:20 UTC",
    ]


def test_a_cluster_without_quorum_or_topics_has_lines_too() -> None:
    empty = replace(STATUS, quorum=None, partitions=(), unanswered={}, brokers={})
    empty = replace(empty, longest_steps={})
    assert list(as_lines(empty))[1:] == ["quorum: no controller describes it", "no topics"]


def test_the_document_follows_its_schema() -> None:
    for status in (STATUS, replace(STATUS, quorum=None)):
        document = json.loads(json.dumps(as_document(status)))
        assert violations("status-1", document) == []
        assert unknown_properties("status-1", document) == set()


def test_who_does_not_answer_is_one_sentence() -> None:
    result = CliRunner().invoke(app, ["status", "--bootstrap", "127.0.0.1:1"])
    assert result.exit_code == 2
    assert "nothing listens at 127.0.0.1:1: connection refused; start it there" in result.output


@pytest.mark.parametrize("address", ["x", "127.0.0.1:70000", "http://127.0.0.1:9092", "a:1,,b:2"])
def test_what_is_no_address_is_one_sentence(address: str) -> None:
    result = CliRunner().invoke(app, ["status", "--bootstrap", address])
    assert result.exit_code == 2
    assert "is not an address; write host:port" in result.output


def test_a_topic_without_a_name_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker lists one against the protocol: nothing can be said of it, but of the others."""
    told = [SimpleNamespace(name=name, topic_id=None, partitions=[]) for name in (None, "t", "s")]

    async def answer(*_: object, **__: object) -> SimpleNamespace:
        return SimpleNamespace(topics=told, brokers=[], cluster_id="c")

    async def serves(*_: object) -> bool:
        return False

    monkeypatch.setattr(WireCluster, "ask_any", answer)
    monkeypatch.setattr(WireCluster, "serves", serves)
    cluster = WireCluster(REAL_WORLD, "127.0.0.1:1")
    assert run(cluster.topic_ids()) == {"t": "", "s": ""}
    assert status_of("127.0.0.1:1").partitions == ()


def test_a_cluster_that_a_file_describes_is_asked_as_its_clients_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "touchstone.toml").write_text('bootstrap = "127.0.0.1:1"\n')
    monkeypatch.chdir(tmp_path)
    for words in (["status"], ["status", "--cluster", "touchstone.toml"]):
        assert "nothing listens at 127.0.0.1:1" in CliRunner().invoke(app, words).output
    both = ["status", "--cluster", "touchstone.toml", "--bootstrap", "127.0.0.1:1"]
    assert "give one of --bootstrap and --cluster" in CliRunner().invoke(app, both).output


def test_the_longest_steps_are_those_of_the_nodes_in_a_directory(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no longest-steps"):
        steps_in(tmp_path)
    assert steps_in(None) == {}
    (tmp_path / "1").mkdir()
    rows = [{"ms": 34.2, "at_ms": 1, "event": "Started"}]
    (tmp_path / "1" / "longest-steps.json").write_text(json.dumps(rows))
    assert steps_in(tmp_path) == steps_in(tmp_path / "1") == {str(tmp_path / "1"): rows}


@pytest.mark.parametrize(
    "target",
    [
        "reference",
        pytest.param(
            "apache:4.3.1", marks=[pytest.mark.nightly, pytest.mark.needs("java", "kafka-jars")]
        ),
    ],
)
def test_every_replica_of_a_cluster_tells_how_far_it_is(target: str, tmp_path: Path) -> None:
    cluster = parse_target(target).start(tmp_path, 3)
    assert isinstance(cluster, KraftCluster)
    try:
        make_topic(cluster.direct(1), "t", 3)
        found = status_of(cluster.bootstrap)
        (leader,) = [each.leader for each in found.partitions if each.topic == "t"]
        append(cluster.direct(leader), "t", 30.0)
        found = status_of(cluster.bootstrap)
    finally:
        cluster.stop()
    assert found.unanswered == {} and set(found.brokers) == {1, 2, 3}
    assert found.quorum is not None and set(found.quorum.voters) == {1, 2, 3}
    (partition,) = [each for each in found.partitions if each.topic == "t"]
    assert set(partition.isr) == {1, 2, 3} and partition.elr == ()
    assert {(each.log_end, partition.lag(each)) for each in partition.replicas} == {(1, 0)}
