"""Apache Kafka's DumpLogSegments over the whole data directory of a broker of ours.

The broker has lived a little: transactions, groups, a compacted topic that was cleaned, topics and
configurations that came and went. The dump tool reads every file that it knows and decodes the
internal topics; what it says is compared with what was done.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reference_impl.core.tests.group_client import Client
from reference_impl.core.tests.transactional import Producer, transactional_world
from reference_impl.core.tests.world import World
from reference_impl.wire import Record, RecordBatch
from reference_impl.wire.tests.java_oracle import launch

pytestmark = pytest.mark.needs("java", "kafka-jars")

OFTEN = {"metadata.log.max.record.bytes.between.snapshots": "1000"}
QUICK = {"log.cleaner.backoff.ms": "100", "log.initial.task.delay.ms": "100"}


class Dump:
    """The directory, and what the tool said of each of its files."""

    def __init__(self, root: Path) -> None:
        world = lived()
        for path in world.storage.paths():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(world.storage.read_file(path))
        self.files = sorted(str(p.relative_to(root / "data")) for p in (root / "data").rglob("*.*"))
        source = Path(__file__).parent / "java" / "DumpOracle.java"
        self.text = launch(source, "4.3.1", str(root / "data"))
        parts = re.split(r"^Dumping (\S+)\n", self.text, flags=re.M)[1:]
        prefix = str(root / "data") + "/"
        self.said = dict(
            zip([p.removeprefix(prefix) for p in parts[::2]], parts[1::2], strict=True)
        )

    def of(self, topic: str, suffix: str = ".log") -> str:
        """Return what was printed of all such files of a topic."""
        return "".join(
            said
            for name, said in self.said.items()
            if name.rpartition("/")[0].rpartition("-")[0] == topic and name.endswith(suffix)
        )

    def records(self, topic: str) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Return (key, payload) of the decoded records of an internal topic."""
        found = re.findall(r"key: (\{.*\}) payload: (.*)$", self.of(topic), re.M)
        return [
            (json.loads(key), None if payload == "<DELETE>" else json.loads(payload))
            for key, payload in found
        ]


def lived() -> World:
    """Return a broker after some transactions, commits, a cleaning, and a clean shutdown."""
    world = transactional_world({**QUICK, **OFTEN})
    one = Producer(world)
    one.init()
    one.transaction("a", "b")
    one.transaction("dropped", commit=False)
    one.transaction("c")
    open_one = Producer(world, "stays-open")
    open_one.init()
    assert open_one.add("t", 1) == 0
    assert open_one.send("open", partition=1).error_code == 0
    world.create_topic(
        "c", cleanup_policy="compact", internal_segment_bytes="100", min_cleanable_dirty_ratio="0.1"
    )
    for number in range(5):
        record = Record(b"%d" % number, b"ab"[number % 2 : number % 2 + 1])
        batch = RecordBatch([record], base_timestamp=world.now_ms)
        assert world.produce("c", raw=batch.encode()).error_code == 0
    member = Client(world, 9)
    member.join()
    world.wait(0)
    assert member.take() is not None
    member.send_sync({member.member_id: b"assignment"})
    assert member.commit(3) == 0
    world.wait(2000)
    assert world.read_all("c") == ["2", "3", "4"]
    world.restart()
    return world


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Dump:
    return Dump(tmp_path_factory.mktemp("dump"))


def test_every_file_is_read_without_a_complaint(dump: Dump) -> None:
    kinds = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")
    expected = [name for name in dump.files if name.endswith(kinds)]
    assert sorted(dump.said) == expected
    assert {Path(name).suffix for name in expected} == set(kinds)
    complaints = r"(?i)mismatch|corrupt|isvalid: false|out of order|not found|could not|exception"
    assert re.findall(complaints, dump.text) == []


def test_the_records_and_markers_of_a_topic(dump: Dump) -> None:
    said = dump.of("t")
    values = re.findall(r"payload: (\w+)$", said, re.M)
    assert values == ["a", "b", "dropped", "c", "open"]
    assert re.findall(r"endTxnMarker: (\w+)", said) == ["COMMIT", "ABORT", "COMMIT"]


def test_the_aborted_transaction_is_in_the_index(dump: Dump) -> None:
    (row,) = re.findall(r"firstOffset: (\d+) lastOffset: (\d+)", dump.of("t", ".txnindex"))
    assert row == ("3", "4")


def test_producers_are_in_the_snapshots(dump: Dump) -> None:
    rows = re.findall(
        r"producerId: (\d+) producerEpoch: (\d+) coordinatorEpoch: (-?\d+)"
        r" currentTxnFirstOffset: (\S+)",
        dump.of("t", ".snapshot"),
    )
    first_offsets = [re.sub(r"\D", "", row[3]) for row in rows]
    assert len({row[0] for row in rows}) == 2
    assert sorted(first_offsets) == ["", "0"], "one is at rest, one has a transaction open"


def test_a_cleaned_log_keeps_keys_at_their_offsets(dump: Dump) -> None:
    rows = re.findall(r"^\| offset: (\d+) .*key: (\w+) payload: (\w+)$", dump.of("c"), re.M)
    assert rows == [("2", "a", "2"), ("3", "b", "3"), ("4", "a", "4")]


def test_committed_offsets_and_groups_are_decoded(dump: Dump) -> None:
    records = dump.records("__consumer_offsets")
    offsets = [(k["data"], v["data"]["offset"]) for k, v in records if v and k["type"] == "1"]
    assert offsets == [({"group": "g", "topic": "t", "partition": 0}, 3)]
    groups = [v["data"] for k, v in records if v and k["type"] == "2"]
    assert groups
    assert groups[-1]["protocol"] == "range"
    assert len(groups[-1]["members"]) == 1


def test_transactions_are_decoded(dump: Dump) -> None:
    last = {
        key["data"]["transactionalId"]: payload["data"]
        for key, payload in dump.records("__transaction_state")
        if payload is not None
    }
    assert set(last) == {"tx", "stays-open"}
    complete_commit, ongoing = 4, 1
    assert last["tx"]["transactionStatus"] == complete_commit
    assert last["stays-open"]["transactionStatus"] == ongoing
    assert last["stays-open"]["transactionPartitions"] == [{"topic": "t", "partitionIds": [1]}]


def test_metadata_records_are_decoded(dump: Dump) -> None:
    payloads = [
        json.loads(found)
        for found in re.findall(r"payload: (\{.*\})$", dump.of("__cluster_metadata"), re.M)
    ]
    topics = [p["data"]["name"] for p in payloads if p["type"] == "TOPIC_RECORD"]
    assert {"t", "c", "__consumer_offsets", "__transaction_state"} <= set(topics)
    configs = {p["data"]["name"] for p in payloads if p["type"] == "CONFIG_RECORD"}
    assert "cleanup.policy" in configs
    assert any(p["type"] == "PRODUCER_IDS_RECORD" for p in payloads)


def test_a_snapshot_of_the_metadata_is_decoded(dump: Dump) -> None:
    said = dump.of("__cluster_metadata", ".checkpoint")
    assert re.findall(r"(SnapshotHeader|SnapshotFooter) ", said) == [
        "SnapshotHeader",
        "SnapshotFooter",
    ]
    payloads = [json.loads(found) for found in re.findall(r"payload: (\{.*\})$", said, re.M)]
    topics = [p["data"]["name"] for p in payloads if p["type"] == "TOPIC_RECORD"]
    assert {"t", "c"} <= set(topics)
    assert payloads[0]["data"]["name"] == "metadata.version"
    (broker,) = (p["data"] for p in payloads if p["type"] == "REGISTER_BROKER_RECORD")
    assert [each["name"] for each in broker["endPoints"]] == ["PLAINTEXT"]
