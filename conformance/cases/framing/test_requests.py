"""Frames and headers: what every request has in common."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from conformance.case import case, expect, expect_that
from conformance.target.variants import SMALL_FETCHES
from conformance.wire import ConnectionClosed, Wire, batch, eventually, request
from reference_impl.wire import decode_response, encode_request

METADATA, API_VERSIONS, FETCH = 3, 18, 1


@pytest.mark.parametrize("correlation_id", [0, -1, -(2**31), 2**31 - 1], ids="id={}".format)
@case("WIRE-01", "Metadata", spec="ResponseHeader.json, field CorrelationId")
def test_the_correlation_id_comes_back_unchanged(
    wire: Wire, version: int, correlation_id: int
) -> None:
    """The answer carries the request's correlation id, whatever 32-bit number it is."""
    connection = wire.connect()
    connection.send_bytes(
        encode_request(METADATA, version, correlation_id, "c", request("Metadata", topics=[]))
    )
    answered, _ = connection.receive("Metadata", version)
    expect(answered, correlation_id, "correlation id")


@case("WIRE-02", "Metadata", spec="Kafka protocol guide, Network; class SocketServer")
def test_pipelined_requests_are_answered_in_order(wire: Wire, version: int) -> None:
    """Five requests sent at once on one connection are all answered, in the order of sending."""
    connection = wire.connect()
    frames = [
        encode_request(METADATA, version, number, "c", request("Metadata", topics=[]))
        for number in range(100, 105)
    ]
    connection.send_bytes(b"".join(frames))
    answered = [connection.receive("Metadata", version)[0] for _ in frames]
    expect(answered, list(range(100, 105)), "correlation ids in order of arrival")


@case("WIRE-03", "Fetch", spec="class SocketServer, muted channels")
def test_an_answer_waits_for_the_slower_request_before_it(wire: Wire, version: int) -> None:
    """ApiVersions sent behind a Fetch that waits 1 s is answered after it, not before."""
    topic = wire.create_topic()
    connection = wire.connect_to_leader(topic)
    slow = wire.fetch_request(topic, 0, max_wait_ms=1000)
    started = time.monotonic()
    connection.send_bytes(
        encode_request(FETCH, version, 1, "c", slow)
        + encode_request(API_VERSIONS, 0, 2, "c", request("ApiVersions"))
    )
    first, _ = decode_response(connection.receive_frame(), FETCH, version)
    waited_s = time.monotonic() - started
    second, _ = decode_response(connection.receive_frame(), API_VERSIONS, 0)
    expect((first, second), (1, 2), "correlation ids in order of arrival")
    expect_that(waited_s >= 0.9, "the Fetch waits first", ">= 0.9 s", f"{waited_s:.2f} s")


@case("WIRE-04", "Fetch", spec="class SocketServer, one processor serves many channels")
def test_a_slow_request_does_not_hold_up_another_connection(wire: Wire, version: int) -> None:
    """While one connection waits in a Fetch of 10 s, another one is answered at once."""
    topic = wire.create_topic()
    leader = wire.leader_address(topic)
    waiting, other = wire.connect(address=leader), wire.connect(address=leader)
    waiting.send("Fetch", version, wire.fetch_request(topic, 0, max_wait_ms=10_000))
    started = time.monotonic()
    other.call("Metadata", wire.version("Metadata"), topics=[])
    took_s = time.monotonic() - started
    expect_that(took_s < 5, "the other connection's answer", "< 5 s", f"{took_s:.2f} s")
    wire.produce(topic, batch(b"wake").encode())
    waiting.receive("Fetch", version)


@case("WIRE-07", "Metadata", spec="RequestHeader.json, field ClientId; EdgeCaseRequestTest")
def test_a_null_client_id_is_accepted(wire: Wire, version: int) -> None:
    """A request whose client id is null is answered like any other."""
    connection = wire.connect()
    sent = connection.send("Metadata", version, request("Metadata", topics=[]), client_id=None)
    answered, answer = connection.receive("Metadata", version)
    expect(answered, sent, "correlation id")
    expect_that(len(answer.brokers) > 0, "brokers in the answer", "at least one", answer.brokers)


@case("WIRE-22", "Metadata", spec="class NetworkReceive", priority="P1")
def test_a_request_may_arrive_byte_by_byte(wire: Wire, version: int) -> None:
    """A request split into single bytes is answered like any other."""
    connection = wire.connect()
    for byte in encode_request(METADATA, version, 7, "c", request("Metadata", topics=[])):
        connection.send_bytes(bytes([byte]))
    expect(connection.receive("Metadata", version)[0], 7, "correlation id")


@case("WIRE-21", "Metadata", spec="class RequestContext.parseRequest", priority="P1")
def test_surplus_bytes_behind_a_body_are_ignored(wire: Wire, version: int) -> None:
    """Bytes behind a valid body, inside the frame, are ignored and the request is answered."""
    connection = wire.connect()
    frame = encode_request(METADATA, version, 9, "c", request("Metadata", topics=[]))
    longer = frame[4:] + b"surplus"
    connection.send_bytes(len(longer).to_bytes(4, "big") + longer)
    expect(connection.receive("Metadata", version)[0], 9, "correlation id")


@case("WIRE-23", "Metadata", spec="class Selector, pollSelectionKeys", priority="P1")
def test_a_client_that_only_stops_sending_is_let_go(wire: Wire, version: int) -> None:
    """If a client closes its sending half after a request, the request is answered or not, and the
    broker then closes the connection, too: fifty such connections leave nothing behind."""
    connections = [wire.connect() for _ in range(50)]
    for connection in connections:
        connection.send("Metadata", version, request("Metadata", topics=[]))
        connection.stop_sending()
    for connection in connections:
        with suppress(ConnectionClosed):
            connection.receive("Metadata", version)
        expect_that(
            connection.is_closed_by_peer(),
            "connection whose client stopped sending",
            "closed by the broker",
            "open",
        )
    still_serves(wire)


def still_serves(wire: Wire) -> None:
    """Require that the target answers on a new connection. Many cases end with it, after an
    abuse."""
    eventually(
        lambda: wire.connect().call("Metadata", wire.version("Metadata"), topics=[]).topics,
        lambda topics: topics == [],
        "the target serves a fresh connection",
    )


@case(
    "WIRE-24",
    "Metadata",
    spec="class Selector, IdleExpiryManager; connections.max.idle.ms",
    priority="P2",
    config=SMALL_FETCHES,
)
def test_a_silent_connection_ends(wire: Wire, version: int) -> None:
    """A connection without requests for connections.max.idle.ms is closed by the broker, not before
    that; one that goes on asking lives."""
    idle_s = int(SMALL_FETCHES["connections.max.idle.ms"]) / 1000
    silent, busy = wire.connect(), wire.connect()
    asked_at = time.monotonic()
    for connection in (silent, busy):
        connection.call("Metadata", version, topics=[])

    def ended() -> bool:
        busy.call("Metadata", version, topics=[])
        return silent.is_closed_by_peer(timeout_s=0.2)

    eventually(ended, bool, "the broker closes the silent connection")
    took_s = time.monotonic() - asked_at
    expect_that(took_s > idle_s / 2, "end of the silent connection", f"after {idle_s} s", took_s)
    expect_that(
        len(busy.call("Metadata", version, topics=[]).brokers) > 0, "brokers", "some", "none"
    )
