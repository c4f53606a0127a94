"""Listeners with SASL and TLS over real sockets: what stops whoever is not let in, and muting."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.targets import parse_target
from chaos.values.protocols import Cluster
from conformance.clients.sasl import authenticate, handshake, plain
from conformance.connection import Connection, ConnectionClosed, part, request
from conformance.target import certificates
from conformance.target.secured import PASSWORDS, SECURED
from reference_impl.host.tests.test_serve import refused
from reference_impl.wire import ErrorCode, RecordBatch
from reference_impl.wire import Record as WireRecord

CERTIFICATE = certificates.for_loopback()
LARGEST_TOKEN = 524_288
TLS = (
    "listeners=OUT://127.0.0.1:0",
    "listener.security.protocol.map=OUT:SSL",
    "ssl.keystore.type=PEM",
)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = parse_target("reference").start(tmp_path_factory.mktemp("secured"), 1, SECURED)
    yield cluster
    cluster.stop()


def at(where: str) -> Connection:
    host, _, port = where.rpartition(":")
    return Connection(host, int(port))


def is_alive(cluster: Cluster) -> bool:
    connection = at(cluster.bootstrap)
    answer = connection.call("Metadata", 12, topics=[])
    connection.close()
    return len(answer.brokers) == 1


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (("listeners=OUT://127.0.0.1:0",), "OUT has no security protocol"),
        ((*TLS, "ssl.keystore.location=/no/such/key.pem"), "No such file"),
        ((*TLS, "ssl.keystore.location=/dev/null"), "does not hold a key"),
        ((*TLS, "ssl.keystore.key=x", "ssl.keystore.certificate.chain=y"), "not a key"),
        (
            (*TLS, f"ssl.keystore.key={CERTIFICATE.key}", "ssl.keystore.certificate.chain=y"),
            "not a key",
        ),
        (
            (
                "listeners=A://127.0.0.1:0,B://192.0.2.1:7",
                "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT",
            ),
            "192.0.2.1 port 7",
        ),
    ],
    ids=("no protocol", "no file", "no key inside", "no key", "no chain", "not our address"),
)
def test_a_listener_that_cannot_be_is_refused_in_one_sentence(
    tmp_path: Path, config: tuple[str, ...], words: str
) -> None:
    options = [part for pair in config for part in ("--config", pair)]
    sentence = refused("--data", str(tmp_path / "data"), *options)
    assert words in sentence
    assert "PRIVATE" not in sentence


def test_nobody_outside_may_send_much_at_once(secured: Cluster) -> None:
    connection = at(secured.listeners["SASL"])
    connection.send_bytes((LARGEST_TOKEN + 1).to_bytes(4, "big"))
    assert connection.is_closed_by_peer()
    assert is_alive(secured)
    connection = at(secured.listeners["SASL"])
    handshake(connection, "PLAIN")
    assert authenticate(connection, plain("alice", PASSWORDS["alice"])).error_code == 0
    big = "x" * LARGEST_TOKEN
    names = [part("Metadata", "MetadataRequestTopic", name=big[:30_000]) for _ in range(20)]
    answer = connection.call("Metadata", 4, topics=names, allow_auto_topic_creation=False)
    assert answer.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    connection.close()


@pytest.mark.parametrize("listener", ["SASL", "TLS", "SASL_TLS"])
@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\n\r\n", bytes(200), b"\x00\x00\x00\x02ab", b"\x16\x03\x01\x00\x05"]
)
def test_what_is_no_client_is_closed_and_harms_nobody(
    secured: Cluster, listener: str, data: bytes
) -> None:
    connection = at(secured.listeners[listener])
    connection.send_bytes(data)
    connection.socket.shutdown(socket.SHUT_WR)
    deadline = time.monotonic() + 10
    connection.socket.settimeout(10)
    while time.monotonic() < deadline and connection.socket.recv(100):
        pass  # a server of TLS may say why before it closes
    assert time.monotonic() < deadline
    connection.close()
    assert is_alive(secured)


def test_requests_behind_a_bad_token_are_not_served(secured: Cluster) -> None:
    connection = at(secured.listeners["SASL"])
    handshake(connection, "PLAIN")
    connection.send("SaslAuthenticate", 2, request("SaslAuthenticate", auth_bytes=plain("x", "y")))
    connection.send("Metadata", 12, request("Metadata", topics=[]))
    answer = connection.receive("SaslAuthenticate", 2)[1]
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    with pytest.raises(ConnectionClosed):
        connection.receive_frame()


def test_the_exchange_and_requests_may_come_in_one_piece(secured: Cluster) -> None:
    connection = at(secured.listeners["SASL"])
    token = plain("bob", PASSWORDS["bob"])
    connection.send("SaslHandshake", 0, request("SaslHandshake", mechanism="PLAIN"))
    connection.send_bytes(len(token).to_bytes(4, "big") + token)
    connection.send("Metadata", 12, request("Metadata", topics=[]))
    assert connection.receive("SaslHandshake", 0)[1].error_code == ErrorCode.NONE
    assert connection.receive_frame() == b""
    assert len(connection.receive("Metadata", 12)[1].brokers) == 1
    connection.close()


def test_large_answers_pass_through_tls(secured: Cluster) -> None:
    """More than is sent from the file by sendfile: encrypted, they must pass through us."""
    plain_text = at(secured.bootstrap)
    creatable = part(
        "CreateTopics",
        "CreatableTopic",
        name="large",
        num_partitions=1,
        replication_factor=1,
        configs=[
            part(
                "CreateTopics",
                "CreatableTopicConfig",
                name="max.message.bytes",
                value=str(20 << 20),
            )
        ],
    )
    plain_text.call("CreateTopics", 4, topics=[creatable], timeout_ms=10_000)
    sent = bytes(range(256)) * (12 << 12)
    records = RecordBatch([WireRecord(sent)]).encode()
    data = part("Produce", "PartitionProduceData", index=0, records=records)
    topic = part("Produce", "TopicProduceData", name="large", partition_data=[data])
    plain_text.call("Produce", 9, acks=1, timeout_ms=10_000, topic_data=[topic])

    host, _, port = secured.listeners["TLS"].rpartition(":")
    connection = Connection(host, int(port))
    context = ssl.create_default_context(cadata=CERTIFICATE.chain)
    connection.socket = context.wrap_socket(connection.socket, server_hostname=host)
    wanted = part("Fetch", "FetchPartition", partition=0, partition_max_bytes=20 << 20)
    asked = part("Fetch", "FetchTopic", topic="large", partitions=[wanted])
    answer = connection.call("Fetch", 12, max_bytes=20 << 20, topics=[asked])
    batch, _ = RecordBatch.decode(bytes(answer.responses[0].partitions[0].records))
    assert batch.records[0].value == sent
    assert len(connection.call("Metadata", 12, topics=[]).brokers) == 1
    for each in (connection, plain_text):
        each.close()
