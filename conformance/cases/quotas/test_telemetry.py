"""Clients' metrics: what clients are asked for, and what they may send. QUOT-06, QUOT-07.

Sources: KIP-714; ClientMetricsManager.java. Apache Kafka advertises both requests only where a
plugin takes the metrics in: without one these cases are unsupported.
"""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from conformance.case import case, each, expect, expect_that
from conformance.cases.quotas.telemetry import (
    GET,
    METRIC,
    PUSH,
    asked,
    asked_until,
    client,
    resubscribe,
    subscribed,
)
from conformance.cases.security.secured_wire import wait_ms
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode

TOO_EARLY = ErrorCode.THROTTLING_QUOTA_EXCEEDED
CODECS = range(5)
INTERVAL_MS = 400
LONG_MS = 600_000


@case(
    "QUOT-06", GET, spec="KIP-714, Client identification and the client instance id", priority="P2"
)
def test_a_client_without_an_id_gets_one(wire: Wire, version: int) -> None:
    """A client that asks under the zero id gets a new id each time, codecs that Kafka knows, each
    once, an interval above zero, a size above zero and delta temporality."""
    who = client(wire)
    told = [asked(who) for _ in range(2)]
    ids = {answer.client_instance_id for answer in told}
    expect_that(
        len(ids) == 2 and UUID(int=0) not in ids, "client instance ids", "two, neither zero", ids
    )
    for answer in told:
        codecs = each(answer.accepted_compression_types, "accepted compression types")
        expect_that(set(codecs) <= set(CODECS), "compression types", "0 to 4", codecs)
        expect(len(codecs), len(set(codecs)), "compression types, each once")
        expect_that(answer.push_interval_ms > 0, "push interval", "> 0", answer.push_interval_ms)
        expect_that(answer.telemetry_max_bytes > 0, "most bytes", "> 0", answer.telemetry_max_bytes)
    expect([row.delta_temporality for row in told], [True, True], "delta temporality")


@case("QUOT-06", GET, spec="KIP-714, GetTelemetrySubscriptions", priority="P2")
def test_a_client_keeps_its_id_and_asks_once_an_interval(wire: Wire, version: int) -> None:
    """A client's own id is echoed, also when it comes again after its interval; sooner it gets
    THROTTLING_QUOTA_EXCEEDED (89)."""
    who, instance_id = client(wire), uuid4()
    with subscribed(wire, f"client_id={who.client_id}", interval_ms=INTERVAL_MS):
        asked_until(who, [METRIC])
        told = asked(who, instance_id)
        expect(
            (told.client_instance_id, told.push_interval_ms),
            (instance_id, INTERVAL_MS),
            "(client instance id, interval)",
        )
        expect(who.ask(instance_id).error_code, TOO_EARLY, "error at once")
        wait_ms(INTERVAL_MS + 50)
        again = asked(who, instance_id)
        expect(
            (again.client_instance_id, again.subscription_id, again.requested_metrics),
            (instance_id, told.subscription_id, [METRIC]),
            "(client instance id, subscription id, metrics) after the interval",
        )


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        ("client_id={id}", True),
        ("client_id={id}.*", True),
        ("client_id={start}", False),
        ("client_id={id},client_source_address=127[.]0[.]0[.]1", True),
        ("client_id={id},client_source_port=[0-9]+", True),
        ("client_id={id},client_software_name=touch.*,client_software_version=1[.]2", True),
        ("client_id={id},client_software_name=another", False),
        ("client_id={id},client_instance_id=no-such-id", False),
    ],
    ids=[
        "id",
        "pattern",
        "part-of-the-id",
        "address",
        "port",
        "software",
        "another-software",
        "another-instance",
    ],
)
@case("QUOT-06", GET, spec="KIP-714, Client matching", priority="P2")
def test_a_client_is_asked_where_every_pattern_fits(wire: Wire, match: str, fits: bool) -> None:
    """A subscription applies to a client if its id, address, port, software and instance id each
    match their pattern as a whole; other clients are not asked for its metrics."""
    who = client(wire)
    who.call("ApiVersions", 3, client_software_name="touchstone", client_software_version="1.2")
    names = {"id": who.client_id, "start": who.client_id[:-1]}
    every = f"client_id={who.client_id}"
    with subscribed(wire, match.format(**names)), subscribed(wire, every, "org.apache.kafka.z."):
        wanted = ["org.apache.kafka.z.", *([METRIC] if fits else [])]
        asked_until(who, wanted)
        expect_that(
            METRIC not in asked(client(wire)).requested_metrics,
            "another client",
            f"is not asked for {METRIC}",
            "is",
        )


@case("QUOT-06", GET, spec="KIP-714, Client metrics subscription", priority="P2")
def test_subscriptions_add_up(wire: Wire) -> None:
    """A client to which several subscriptions apply is asked for the metrics of all, each once, at
    the shortest interval; if one subscription names every metric (*), it is asked for * alone."""
    who = client(wire)
    match = f"client_id={who.client_id}"
    with (
        subscribed(wire, match, "a.,b.", interval_ms=LONG_MS),
        subscribed(wire, match, "b.,c.", interval_ms=INTERVAL_MS),
    ):
        told = asked_until(who, ["a.", "b.", "c."])
        expect(told.push_interval_ms, INTERVAL_MS, "interval")
        with subscribed(wire, match, "*", interval_ms=LONG_MS):
            asked_until(who, ["*"])
        asked_until(who, ["a.", "b.", "c."])
    eventually(
        lambda: asked(who).requested_metrics,
        lambda found: found == [],
        "nothing is asked for any more",
    )


@case("QUOT-06", GET, spec="KIP-714, SubscriptionId", priority="P2")
def test_a_changed_subscription_has_another_id(wire: Wire) -> None:
    """Once a subscription changes the client may ask at once, and gets the new metrics under
    another id; a push under the old id gets UNKNOWN_SUBSCRIPTION_ID (117)."""
    who, instance_id = client(wire), uuid4()
    with subscribed(wire, f"client_id={who.client_id}", interval_ms=INTERVAL_MS) as name:
        asked_until(who, [METRIC])
        told = asked(who, instance_id)
        resubscribe(wire, name, "another.")
        asked_until(who, ["another."])
        again = asked(who, instance_id)
        expect(again.requested_metrics, ["another."], "metrics")
        expect_that(
            again.subscription_id != told.subscription_id,
            "subscription id",
            f"another than {told.subscription_id}",
            again.subscription_id,
        )
        expect(who.push(told), ErrorCode.UNKNOWN_SUBSCRIPTION_ID, "error under the old id")
        wait_ms(INTERVAL_MS + 50)
        expect(who.push(again), ErrorCode.NONE, "error under the new id")


@case("QUOT-07", PUSH, spec="KIP-714, PushTelemetry", priority="P2")
def test_metrics_are_pushed_once_an_interval(wire: Wire, version: int) -> None:
    """The first push after asking is taken at once, also an empty one, the next after an interval;
    sooner it gets THROTTLING_QUOTA_EXCEEDED (89)."""
    who = client(wire)
    with subscribed(wire, f"client_id={who.client_id}", interval_ms=INTERVAL_MS):
        told = asked_until(who, [METRIC])
        expect(who.push(told), ErrorCode.NONE, "error of the first")
        expect(who.push(told), TOO_EARLY, "error of the second")
        other = who.push(told, subscription_id=told.subscription_id + 1)
        expect(other, TOO_EARLY, "error of one for another subscription")
        wait_ms(INTERVAL_MS + 50)
        expect(who.push(told, metrics=b""), ErrorCode.NONE, "error after the interval")
        expect(who.push(told, metrics=b""), TOO_EARLY, "error after that")


@pytest.mark.parametrize("codec", CODECS)
@case("QUOT-07", PUSH, spec="KIP-714, PushTelemetry; CompressionType", priority="P2")
def test_every_codec_of_kafka_is_taken(wire: Wire, codec: int) -> None:
    """Metrics without compression, and under each of the four codecs, are taken."""
    who = client(wire)
    told = asked(who)
    expect(who.push(told, compression_type=codec, metrics=b""), ErrorCode.NONE, "error")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"subscription_id": 12345}, ErrorCode.UNKNOWN_SUBSCRIPTION_ID),
        ({"compression_type": 5}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"compression_type": -1}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"client_instance_id": UUID(int=0)}, ErrorCode.INVALID_REQUEST),
        ({"client_instance_id": UUID(int=1)}, ErrorCode.INVALID_REQUEST),
    ],
    ids=["subscription", "codec-5", "codec-minus-1", "zero-id", "reserved-id"],
)
@case("QUOT-07", PUSH, spec="KIP-714, PushTelemetry, errors", priority="P2")
def test_a_push_that_cannot_be_is_refused(
    wire: Wire, changes: dict[str, object], code: ErrorCode
) -> None:
    """Another subscription id gets UNKNOWN_SUBSCRIPTION_ID (117), an unknown codec
    UNSUPPORTED_COMPRESSION_TYPE (76); then the client may ask again at once. An id that no client
    can have gets INVALID_REQUEST (42)."""
    who = client(wire)
    told = asked(who)
    expect(who.push(told, **changes), code, "error")
    if code != ErrorCode.INVALID_REQUEST:
        again = asked(who, told.client_instance_id)
        expect(again.subscription_id, told.subscription_id, "subscription id")


@case("QUOT-07", PUSH, spec="KIP-714; telemetry.max.bytes", priority="P2")
def test_too_many_bytes_are_refused(wire: Wire, version: int) -> None:
    """A push of as many bytes as GetTelemetrySubscriptions allows is accepted; one byte more gets
    TELEMETRY_TOO_LARGE (118)."""
    who = client(wire)
    told = asked(who)
    most = told.telemetry_max_bytes
    answer = who.push(told, metrics=bytes(most + 1))
    expect(answer, ErrorCode.TELEMETRY_TOO_LARGE, "error of one byte more")
    other = asked(who)
    expect(who.push(other, metrics=bytes(most)), ErrorCode.NONE, "error of the most")


@case("QUOT-07", PUSH, spec="KIP-714, field Terminating", priority="P2")
def test_the_last_push_of_a_client_comes_at_any_time_and_is_the_last(
    wire: Wire, version: int
) -> None:
    """A push with `terminating` is taken within the interval, where another one gets
    THROTTLING_QUOTA_EXCEEDED (89); after it the client gets INVALID_REQUEST (42)."""
    who = client(wire)
    told = asked(who)
    expect(who.push(told), ErrorCode.NONE, "error of the first")
    expect(who.push(told), TOO_EARLY, "error of the second")
    expect(who.push(told, terminating=True), ErrorCode.NONE, "error of the last")
    expect(who.push(told, terminating=True), ErrorCode.INVALID_REQUEST, "error after the last")


@case("QUOT-07", PUSH, spec="KIP-714, PushTelemetry, errors", priority="P2")
def test_a_client_that_has_not_asked_is_sent_to_ask(wire: Wire, version: int) -> None:
    """A push under an id that the broker has not seen gets UNKNOWN_SUBSCRIPTION_ID (117), and the
    client may ask under that id at once."""
    who, instance_id = client(wire), uuid4()
    told = asked(who)
    answer = who.push(told, client_instance_id=instance_id)
    expect(answer, ErrorCode.UNKNOWN_SUBSCRIPTION_ID, "error")
    expect(asked(who, instance_id).client_instance_id, instance_id, "client instance id")
