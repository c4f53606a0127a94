"""The server over TCP: order, bad frames, silence, waiting, and clients that leave."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reference_impl.core.handlers import BROKER
from reference_impl.robustness.process import BrokerProcess, RawClient
from reference_impl.wire import ApiKey, decode_response, encode_request, request_definition


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data: Path = tmp_path_factory.mktemp("broker") / "data"
    with BrokerProcess(data, "--config", "socket.request.max.bytes=1000000") as broker:
        with RawClient(broker) as client:
            client.create_topic("t")
        yield broker


def correlation_ids(client: RawClient, count: int) -> list[int]:
    found = []
    for _ in range(count):
        frame = client.receive()
        assert frame is not None
        found.append(struct.unpack_from(">i", frame)[0])
    return found


def test_pipelined_requests_are_answered_in_order(broker: BrokerProcess) -> None:
    with RawClient(broker) as client:
        body = request_definition(ApiKey.METADATA).new(topics=None)
        ids = list(range(100, 120))
        client.socket.sendall(
            b"".join(encode_request(ApiKey.METADATA, 9, number, None, body) for number in ids)
        )
        assert correlation_ids(client, len(ids)) == ids


def test_a_waiting_fetch_holds_back_what_follows_it(broker: BrokerProcess) -> None:
    with RawClient(broker) as client, RawClient(broker) as other:
        started = time.monotonic()
        client.send_fetch("t", max_wait_ms=600, min_bytes=1 << 20)
        client.send(ApiKey.API_VERSIONS, 0, correlation_id=2)
        assert other.call(ApiKey.API_VERSIONS, 0).error_code == 0  # others do not wait
        assert correlation_ids(client, 2) == [1, 2]
        assert time.monotonic() - started >= 0.5


def test_requests_may_come_byte_by_byte(broker: BrokerProcess) -> None:
    with RawClient(broker) as client:
        body = request_definition(ApiKey.API_VERSIONS).new()
        for byte in encode_request(ApiKey.API_VERSIONS, 0, 5, "x", body):
            client.socket.sendall(bytes((byte,)))
        assert correlation_ids(client, 1) == [5]


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack(">i", -1),
        struct.pack(">i", 0),
        struct.pack(">i", 1_000_001),
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">ihhih", 10, 999, 0, 1, -1),
        struct.pack(">ihhih", 10, ApiKey.METADATA, 99, 1, -1),
        struct.pack(">ihhih", 10, ApiKey.METADATA, 1, 1, -1),
        struct.pack(">ihhih", 10, ApiKey.METADATA, 1, 1, 500),
        struct.pack(">ihhihi", 14, ApiKey.METADATA, 1, 1, -1, 2**31 - 1),
    ],
    ids=[
        "negative",
        "empty",
        "too-large",
        "http",
        "unknown-key",
        "unknown-version",
        "no-body",
        "client-id-too-long",
        "huge-array",
    ],
)
def test_a_frame_that_cannot_be_read_closes_its_connection_only(
    broker: BrokerProcess, frame: bytes
) -> None:
    with RawClient(broker) as client, RawClient(broker) as bad:
        bad.socket.sendall(frame)
        assert bad.receive() is None
        assert client.call(ApiKey.API_VERSIONS, 0).error_code == 0


def test_what_came_before_a_bad_frame_is_answered(broker: BrokerProcess) -> None:
    with RawClient(broker) as client:
        body = request_definition(ApiKey.API_VERSIONS).new()
        good = encode_request(ApiKey.API_VERSIONS, 0, 5, None, body)
        client.socket.sendall(good + struct.pack(">i", -1))
        assert correlation_ids(client, 1) == [5]
        assert client.receive() is None


def test_an_unknown_version_of_api_versions_is_answered_with_the_known_ones(
    broker: BrokerProcess,
) -> None:
    with RawClient(broker) as client:
        client.socket.sendall(struct.pack(">ihhihb", 11, ApiKey.API_VERSIONS, 127, 9, -1, 0))
        frame = client.receive()
        assert frame is not None
        _, body = decode_response(frame, ApiKey.API_VERSIONS, 0)
        rows = [(row.api_key, row.min_version, row.max_version) for row in body.api_keys]
        assert (body.error_code, rows) == (35, [(18, 0, 4)])
        software = {"client_software_name": "raw", "client_software_version": "1"}
        assert client.call(ApiKey.API_VERSIONS, 4, **software).error_code == 0


def test_acks_0_gets_no_answer_and_its_error_closes(broker: BrokerProcess) -> None:
    with RawClient(broker) as client:
        client.create_topic("silent")
        client.send_produce("silent", "a", acks=0)
        assert client.call(ApiKey.API_VERSIONS, 0).error_code == 0
        assert client.read_all("silent") == ["a"]
        client.send_produce("nowhere", "a", acks=0)
        assert client.receive() is None


def test_a_client_that_leaves_while_its_fetch_waits_harms_nobody(broker: BrokerProcess) -> None:
    with RawClient(broker) as client:
        client.create_topic("left")
        for _ in range(20):
            with RawClient(broker) as leaving:
                leaving.send_fetch("left", max_wait_ms=30_000)
        assert client.produce("left", "a").error_code == 0
        assert client.read_all("left") == ["a"]


@pytest.mark.parametrize("behind", [0, 3])
def test_a_client_that_sends_no_more_is_answered_what_comes_soon(
    broker: BrokerProcess, behind: int
) -> None:
    """Apache Kafka answers all that came before the end, however long it takes. Here a fetch of an
    hour is given up, since its client has probably gone (test_sockets.py)."""
    with RawClient(broker) as client:
        client.create_topic(f"half-{behind}")
        client.send_fetch(f"half-{behind}", max_wait_ms=400, min_bytes=1)
        for _ in range(behind):
            client.send(ApiKey.API_VERSIONS, 0)
        client.socket.shutdown(socket.SHUT_WR)
        assert all(client.receive() for _ in range(1 + behind))
        assert client.receive() is None


def test_a_slow_reader_does_not_stop_others(broker: BrokerProcess) -> None:
    with RawClient(broker) as client, RawClient(broker) as slow:
        client.create_topic("big")
        for _ in range(4):
            client.produce("big", "x" * 500_000)
        for _ in range(50):
            slow.send_fetch("big")  # some 25 MB of answers that nobody reads
        assert client.call(ApiKey.API_VERSIONS, 0).error_code == 0
        assert correlation_ids(slow, 50) == [1] * 50


NEEDED: dict[ApiKey, dict[str, int]] = {
    ApiKey.PRODUCE: {"acks": 1},
    # The type 0 is UNKNOWN, which closes the connection; 1 is ANY.
    ApiKey.DESCRIBE_ACLS: {
        "resource_type_filter": 1,
        "pattern_type_filter": 1,
        "operation": 1,
        "permission_type": 1,
    },
}
"""Fields without which an API has no answer."""


def test_every_version_that_is_advertised_is_answered(broker: BrokerProcess) -> None:
    with RawClient(broker) as client:
        for key, api in BROKER.items():
            for version in range(api.min_version, api.max_version + 1):
                client.call(ApiKey(key), version, **NEEDED.get(ApiKey(key), {}))
