"""Test both clients against a real broker process: the reference, which needs nothing but
Python."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.clients import payload
from chaos.clients.confluent.client import ConfluentClient
from chaos.clients.wire.admin import Admin
from chaos.clients.wire.raw import RawClient
from chaos.clients.wire.wire_link import WireCluster, parse_bootstrap
from chaos.means.connection import WireError, connected
from chaos.means.real_world import REAL_WORLD, run
from chaos.record.run_directory import Scenario
from chaos.targets import parse_target
from chaos.tests.storms import run_until_shown
from chaos.values.protocols import (
    Assign,
    ClientSettings,
    Cluster,
    Completion,
    Isolation,
    Outcome,
    Poll,
    ReadAll,
    Record,
    Send,
    TopicSpec,
)
from linearizability.judging import check
from linearizability.verdict import Validity

NONCE = payload.nonce_of("test")
TOPIC = TopicSpec("clients", 2)
PARTITIONS = (("clients", 0), ("clients", 1))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = parse_target("reference").start(tmp_path_factory.mktemp("cluster"))
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="module")
def sent(cluster: Cluster) -> list[Record]:
    """Five values in partition 0, three in partition 1."""
    admin = Admin(REAL_WORLD, cluster.bootstrap)
    ids = run(admin.create_topics([TOPIC], 1, timeout_s=120.0))
    assert set(ids) == {"clients"}
    assert run(admin.why_not_well([TOPIC], 1)) is None
    admin.close()
    client = ConfluentClient(REAL_WORLD, cluster.bootstrap, ClientSettings(), NONCE)
    try:
        completions = [
            run(client.perform(Send("clients", 0, (1, 2, 3)))),
            run(client.perform(Send("clients", 0, (4, 5)))),
            run(client.perform(Send("clients", 1, (6, 7, 8)))),
        ]
    finally:
        run(client.close())
    assert all(completion.outcome is Outcome.OK for completion in completions)
    return [record for completion in completions for record in completion.records]


def found_by(completion: Completion) -> set[tuple[int, int, int | None]]:
    return {(r.partition, r.offset, r.value) for r in completion.records if r.offset is not None}


def statements(completion: Completion) -> list[tuple[int, int, int]]:
    return [
        (r.partition, r.extra["log_start"], r.extra["high_watermark"])
        for r in completion.records
        if r.extra.get("f") == "read_all"
    ]


def test_acknowledged_records_have_offsets_without_gaps(sent: list[Record]) -> None:
    assert {(r.partition, r.offset, r.value) for r in sent} == {
        (0, 0, 1),
        (0, 1, 2),
        (0, 2, 3),
        (0, 3, 4),
        (0, 4, 5),
        (1, 0, 6),
        (1, 1, 7),
        (1, 2, 8),
    }


def test_a_raw_read_has_every_record_and_the_headers_of_its_batch(
    cluster: Cluster, sent: list[Record]
) -> None:
    client = RawClient(REAL_WORLD, cluster.bootstrap, NONCE)
    completion = run(client.perform(ReadAll(PARTITIONS, raw=True)))
    run(client.close())
    assert completion.outcome is Outcome.OK
    assert found_by(completion) == {(r.partition, r.offset, r.value) for r in sent}
    assert statements(completion) == [(0, 0, 5), (1, 0, 3)]
    records = [r for r in completion.records if r.offset is not None]
    assert all(r.extra["producer_id"] >= 0 and r.extra["producer_epoch"] == 0 for r in records)
    sequences = {p: [r.extra["sequence"] for r in records if r.partition == p] for p in (0, 1)}
    assert sequences == {0: [0, 1, 2, 3, 4], 1: [0, 1, 2]}


def test_a_consumer_reads_the_same_to_the_end(cluster: Cluster, sent: list[Record]) -> None:
    client = ConfluentClient(REAL_WORLD, cluster.bootstrap, ClientSettings(), NONCE)
    completion = run(client.perform(ReadAll(PARTITIONS, Isolation.READ_UNCOMMITTED)))
    run(client.close())
    assert completion.outcome is Outcome.OK
    assert found_by(completion) == {(r.partition, r.offset, r.value) for r in sent}
    assert statements(completion) == [(0, 0, 5), (1, 0, 3)]


def test_records_of_another_run_are_told(cluster: Cluster, sent: list[Record]) -> None:
    client = RawClient(REAL_WORLD, cluster.bootstrap, payload.nonce_of("another"))
    completion = run(client.perform(ReadAll(PARTITIONS, raw=True)))
    run(client.close())
    details = {r.extra["detail"] for r in completion.records if r.offset is not None}
    assert {r.value for r in completion.records} == {None}
    assert all("another run" in detail for detail in details)


def test_polls_deliver_everything_in_order_and_then_nothing(
    cluster: Cluster, sent: list[Record]
) -> None:
    client = ConfluentClient(REAL_WORLD, cluster.bootstrap, ClientSettings(), NONCE)
    assert run(client.perform(Assign(PARTITIONS))).outcome is Outcome.OK
    got: list[tuple[int, int | None]] = []
    deadline = time.monotonic() + 30
    while len(got) < len(sent) and time.monotonic() < deadline:
        got += [(r.partition, r.value) for r in run(client.perform(Poll())).records]
    nothing = run(client.perform(Poll(timeout_s=0.2)))
    run(client.close())
    assert [v for p, v in got if p == 0] == [1, 2, 3, 4, 5]
    assert [v for p, v in got if p == 1] == [6, 7, 8]
    assert (nothing.outcome, tuple(nothing.records)) == (Outcome.OK, ())


def test_a_send_to_nobody_is_unknown_when_its_time_is_up() -> None:
    settings = ClientSettings(delivery_timeout_ms=1_000)
    client = ConfluentClient(REAL_WORLD, "127.0.0.1:1", settings, NONCE)
    completion = run(client.perform(Send("t", 0, (1,))))
    run(client.close())
    assert (completion.outcome, completion.error) == (Outcome.INFO, "_MSG_TIMED_OUT")


def test_a_topic_that_is_there_already_is_refused(cluster: Cluster, sent: list[Record]) -> None:
    admin = Admin(REAL_WORLD, cluster.bootstrap)
    with pytest.raises(WireError, match="clients already"):
        run(admin.create_topics([TOPIC], 1, timeout_s=1.0))
    admin.close()


def test_a_partition_that_is_not_there_is_an_incomplete_read(cluster: Cluster) -> None:
    client = RawClient(REAL_WORLD, cluster.bootstrap, NONCE, timeout_s=0.5)
    completion = run(client.perform(ReadAll((("nowhere", 0),), raw=True)))
    run(client.close())
    assert completion.outcome is Outcome.INFO
    assert completion.records[0].outcome is Outcome.INFO
    assert completion.detail is not None and "nowhere-0" in completion.detail


def test_nobody_there_is_one_sentence() -> None:
    with pytest.raises(WireError, match=r"127\.0\.0\.1:1 cannot be reached"):
        run(connected(REAL_WORLD, ("127.0.0.1", 1), 1.0))
    with pytest.raises(WireError, match="cannot be reached"):
        run(WireCluster(REAL_WORLD, "127.0.0.1:1,127.0.0.1:2").view([]))


@pytest.mark.parametrize("text", ["nohost", "host:", "a:1,b"])
def test_a_bootstrap_that_is_none_is_one_sentence(text: str) -> None:
    with pytest.raises(WireError, match="host:port"):
        parse_bootstrap(text)


@pytest.mark.needs("toxiproxy")
def test_a_short_storm_over_the_reference_is_valid(tmp_path: Path) -> None:
    """Kills with held-back answers, by signals and toxiproxy, recorded and judged."""
    scenario = Scenario("reference", "appends", "kill", 1, 6.0, seed=5)
    result = run_until_shown(scenario, tmp_path)
    verdict = check(result.directory, engine="local", named_by_workload=("lost_writes",))
    assert (result.problems, result.recovered) == ((), True)
    assert (verdict.validity, verdict.reason) == (Validity.VALID, None)
    assert result.counts["faults"] >= 2


RUN = """
import sys
from pathlib import Path
from chaos.record.run_directory import Scenario
from chaos.run.runner import run
print(run(Scenario("reference", "appends", "kill", 1, 120.0, 1), Path(sys.argv[1])).interrupted)
"""


@pytest.mark.needs("toxiproxy")
def test_ctrl_c_ends_every_process_and_keeps_the_directory(tmp_path: Path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("*/history.parts/part-*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    children = descendants(running.pid)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=600)
    assert out.strip() == "True", err
    assert "Traceback" not in err
    assert children  # the broker and toxiproxy were there
    assert not [pid for pid in children if is_running(pid)]
    facts = json.loads(next(tmp_path.glob("*/run.json")).read_text())
    assert facts["interrupted"] and facts["ended"]
    assert list(tmp_path.glob("*/history.parquet"))


def descendants(pid: int) -> list[int]:
    """Return the processes whose parents lead to pid, by /proc."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found = [pid]
    for candidate in found:
        found += [child for child, parent in parents.items() if parent == candidate]
    return found[1:]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
