"""The command: how it starts, refuses to start, stops, and comes back after kill -9."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from reference_impl.host.serve import main
from reference_impl.robustness.process import PATIENCE_S, BrokerProcess, RawClient
from reference_impl.wire import (
    ApiKey,
    BatchHeader,
    ErrorCode,
    Record,
    RecordBatch,
    read_header,
    request_definition,
)


def refused(*options: str) -> str:
    """Return the message of a broker that does not start: one sentence, with exit status 2. It
    leaves no temporary directory."""
    with tempfile.TemporaryDirectory() as temporary:
        done = subprocess.run(
            [sys.executable, "-m", "reference_impl.host", *options],
            env={**os.environ, "TMPDIR": temporary},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert os.listdir(temporary) == []
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    sentence = [line for line in done.stderr.splitlines() if line.startswith("touchstone serve:")]
    assert len(sentence) == 1, done.stderr
    return sentence[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--nodes", "0"), "--nodes 0: give a number from 1 to 99"),
        (("--nodes", "3", "--controllers", "4"), "--controllers 4: give a number from 1 to 3"),
        (("--nodes", "3", "--config", "node.id=1"), "node.id differs between nodes"),
        (("--nodes", "3", "--config", "no.such.key=1"), "Unknown broker config name: no.such.key"),
        (("--nodes", "3", "--cluster-id", "mine"), "--cluster-id mine: an id has 22 letters"),
        (("--nodes", "3", "--resolver", "hosts"), "--resolver is for one node"),
        (("--config", "no.such.key=1"), "Unknown broker config name: no.such.key"),
        (("--config", "num_partitions=3"), "did you mean num.partitions?"),
        (("--config", "log.retention.m=3"), "did you mean log.retention.ms?"),
        (("--config", "listeners=PLAINTEXT://no.such.host.invalid:0"), "no.such.host.invalid"),
        (("--config", "num.partitions=many"), "num.partitions"),
        (("--config", "num.partitions=0"), "at least 1"),
        (("--config", "broken"), "KEY=VALUE"),
        (("--config", "listeners=nonsense"), "PLAINTEXT://host:port"),
        (("--config", "listeners=PLAINTEXT://127.0.0.1:1", "--port", "2"), "only one of them"),
        (("--config-file", "no.such.file"), "no.such.file: No such file or directory; name a file"),
        (("--bug", "none"), "acknowledge-before-append"),
        (("--port", "70000"), "65535"),
        (("--cluster-id", "mine"), "--cluster-id mine: an id has 22 letters"),
        (("--resolver", "no.such.file"), "no.such.file: No such file or directory; name a file"),
        (("--config", "controller.quorum.voters=1@a:1,2@b:1"), "node.id is not given"),
        (
            (
                *("--config", "node.id=4", "--config", "process.roles=broker"),
                *("--config", "controller.quorum.voters=1@a:1,2@b:1"),
            ),
            "is not formatted: all nodes of a cluster have one cluster id",
        ),
        (
            (
                *("--config", "node.id=4", "--config", "process.roles=broker,controller"),
                *("--config", "controller.quorum.voters=1@a:1,2@b:1"),
                *("--config", "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"),
            ),
            "node.id=4 is a controller and not among the voters 1, 2",
        ),
        (("--config", "process.roles=worker"), "process.roles"),
    ],
    ids=str,
)
def test_bad_options_are_refused_in_one_sentence(
    tmp_path: Path, options: tuple[str, ...], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Run the command in this process, since to start one takes longer than to refuse."""
    names_a_port = any("--port" in word or "listeners=" in word for word in options)
    port = () if names_a_port else ("--port", "0")  # the usual one may be taken
    status = main(["--data", str(tmp_path / "data"), *port, *options])
    out, said = capfd.readouterr()
    assert (status, out, said.count("touchstone serve:")) == (2, "", 1)
    assert words in said


def test_a_file_says_what_the_command_line_does_not_say_otherwise(tmp_path: Path) -> None:
    """A secret that it names is in no argument of the process, and not in what is refused."""
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=many\nssl.key.password = s3cret\n")
    assert "num.partitions" in refused("--data", str(tmp_path), "--config-file", str(file))
    file.write_text("sasl.jaas.config=s3cret\n")
    assert "s3cret" not in refused("--data", str(tmp_path), "--config-file", str(file))
    file.write_text("num.partitions=many\nssl.key.password = s3cret\n")
    options = ("--config-file", str(file), "--config", "num.partitions=2")
    with BrokerProcess(tmp_path / "data", *options) as broker:
        words = Path(f"/proc/{broker.process.pid}/cmdline").read_text()
        assert str(file) in words and "s3cret" not in words


def test_a_port_in_use_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert "--port" in refused("--data", str(tmp_path / "data"), "--port", str(port))
        assert "--port" in refused("--port", str(port))  # with a data directory of its own


@pytest.mark.parametrize(
    "options", [("--nodes", "3", "--config", "no.such.key=1"), ("--cluster-id", "mine")], ids=str
)
def test_a_broker_that_is_refused_leaves_no_temporary_directory(options: tuple[str, ...]) -> None:
    assert refused(*options, "--port", "0")


def test_a_data_directory_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "--data" in refused("--data", str(tmp_path / "file" / "data"), "--port", "0")


def test_an_address_of_another_machine_is_refused(tmp_path: Path) -> None:
    listeners = "listeners=PLAINTEXT://192.0.2.1:9092"
    assert "cannot listen" in refused("--data", str(tmp_path / "d"), "--config", listeners)


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    # The file that is written first; on this device there is never room.
    (data / "meta.properties.tmp").symlink_to("/dev/full")
    said = refused("--data", str(data), "--port", "0")
    assert f"{data}/meta.properties: no space left on the disk" in said


def last_segment(data: Path, partition: str) -> Path:
    return max((data / partition).glob("*.log"))


@pytest.mark.parametrize(
    ("partition", "words"),
    [
        ("__cluster_metadata-0", "the batch at offset"),
        ("__consumer_offsets-0", "the batch at offset 0"),
        ("__transaction_state-0", "the batch at offset 0"),
    ],
)
def test_records_of_the_broker_that_nobody_understands_are_named(
    tmp_path: Path, partition: str, words: str
) -> None:
    data = tmp_path / "data"
    one_partition = tuple(
        option
        for key in ("offsets.topic.num.partitions", "transaction.state.log.num.partitions")
        for option in ("--config", f"{key}=1")
    )
    with BrokerProcess(data, *one_partition) as broker, RawClient(broker) as client:
        for key_type in (0, 1):
            client.call(ApiKey.FIND_COORDINATOR, 1, key="k", key_type=key_type)
        assert broker.stop() == 0
    segment = last_segment(data, partition)
    offset = sum(header.records_count for header in headers_of(segment))
    nonsense = RecordBatch([Record(b"?", key=b"\0\1")], base_offset=offset).encode()
    with segment.open("ab") as log:
        log.write(nonsense)
    before = segment.read_bytes()
    if partition == "__cluster_metadata-0":
        said = refused("--data", str(data), "--port", "0", *one_partition)
    else:  # without a coordinator the broker still serves all that needs none
        with BrokerProcess(data, *one_partition) as broker, RawClient(broker) as client:
            client.create_topic("t")
            assert client.produce("t", "a").error_code == 0
            key_type = {"__consumer_offsets-0": 0, "__transaction_state-0": 1}[partition]
            assert asked_for_coordinated(client, key_type) == ErrorCode.NOT_COORDINATOR
            assert broker.stop() == 0
        said = (tmp_path / "broker.err").read_text()
        assert f"{partition} cannot be loaded and refuses requests until it is repaired" in said
    assert f"{data}/{partition}: {words}" in said
    assert segment.read_bytes() == before


def asked_for_coordinated(client: RawClient, key_type: int) -> ErrorCode:
    """Return the error with which a coordinator describes a group or a transactional id."""
    if key_type == 0:
        row = client.call(ApiKey.DESCRIBE_GROUPS, 5, groups=["k"]).groups[0]
    else:
        answer = client.call(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=["k"])
        row = answer.transaction_states[0]
    return ErrorCode(row.error_code)


def headers_of(segment: Path) -> list[BatchHeader]:
    data, position, found = segment.read_bytes(), 0, []
    while position < len(data):
        found.append(read_header(data, position))
        position += found[-1].size
    return found


def test_a_corrupt_segment_of_the_metadata_is_named(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with BrokerProcess(data) as broker, RawClient(broker) as client:
        client.create_topic("t")
        assert broker.stop() == 0
    segment = last_segment(data, "__cluster_metadata-0")
    with segment.open("r+b") as log:
        log.seek(70)
        log.write(b"\xff\xff\xff\xff")
    before = segment.read_bytes()
    said = refused("--data", str(data), "--port", "0")
    assert f"{segment}: crc" in said and "bring the file back from a copy" in said
    assert segment.read_bytes() == before


def test_a_damaged_checkpoint_is_named_and_can_be_deleted(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with BrokerProcess(data) as broker, RawClient(broker) as client:
        client.create_topic("t")
        assert client.produce("t", "kept").error_code == 0
        assert broker.stop() == 0
    checkpoint = data / "recovery-point-offset-checkpoint"
    checkpoint.write_text("0\n7\n")
    said = refused("--data", str(data), "--port", "0")
    assert f"{checkpoint}: it promises 7 entries and has 0; delete this file" in said
    checkpoint.unlink()
    with BrokerProcess(data) as broker, RawClient(broker) as client:
        assert client.read_all("t") == ["kept"]


def test_a_data_directory_in_use_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with BrokerProcess(data):
        assert "in use by another broker" in refused("--data", str(data), "--port", "0")


def test_a_data_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with BrokerProcess(data, "--config", "node.id=1") as broker:
        assert broker.stop() == 0
    said = refused("--data", str(data), "--port", "0", "--config", "node.id=2")
    assert "belongs to node 1" in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    data = tmp_path / "data"
    with BrokerProcess(data) as broker:
        broker.process.send_signal(number)
        assert broker.process.wait(PATIENCE_S) == 0
    assert (data / ".kafka_cleanshutdown").exists()


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    data = tmp_path / "data"
    producer = {"producer_id": 5, "producer_epoch": 0}
    with BrokerProcess(data) as broker, RawClient(broker) as client:
        client.create_topic("t")
        for sequence in range(20):
            row = client.produce("t", str(sequence), base_sequence=sequence, **producer)
            assert row.error_code == 0
        broker.kill()
    with BrokerProcess(data) as broker, RawClient(broker) as client:
        again = client.produce("t", "19", base_sequence=19, **producer)
        assert (again.error_code, again.base_offset) == (0, 19)
        assert client.read_all("t") == [str(number) for number in range(20)]
        assert client.produce("t", "20", base_sequence=20, **producer).base_offset == 20


def test_it_advertises_what_it_is_told(tmp_path: Path) -> None:
    told = "advertised.listeners=PLAINTEXT://elsewhere:1234"
    with (
        BrokerProcess(tmp_path / "data", "--config", told) as broker,
        RawClient(broker) as client,  # which goes where `ready` says
    ):
        rows = client.call(ApiKey.METADATA, 9, topics=[]).brokers
        assert [(row.host, row.port) for row in rows] == [("elsewhere", 1234)]


def test_what_the_options_say_is_described(tmp_path: Path) -> None:
    of = request_definition(ApiKey.DESCRIBE_CONFIGS)
    keys = ["listeners", "log.dirs"]
    asked = of.struct(
        "DescribeConfigsResource", resource_type=4, resource_name="1", configuration_keys=keys
    )
    with BrokerProcess(tmp_path / "data") as broker, RawClient(broker) as client:
        (told,) = client.call(ApiKey.DESCRIBE_CONFIGS, 4, resources=[asked]).results
    static = 4
    assert [(row.name, row.value, row.config_source) for row in told.configs] == [
        ("listeners", "PLAINTEXT://127.0.0.1:0", static),
        ("log.dirs", str(tmp_path / "data"), static),
    ]
