"""Every API and version that is advertised: asked once, and the answer read to its last byte."""

from __future__ import annotations

import pytest

from conformance.case import Deviation, Unsupported, case, expect, expect_that
from conformance.cases.framing.minimal_requests import REQUESTS, minimal_request
from conformance.cases.framing.subject import Subject
from conformance.cases.quotas.quotas import require_no_quotas
from conformance.session.keys import EXAMINED
from conformance.wire import Wire, api_key, eventually
from reference_impl.wire import (
    Malformed,
    Struct,
    api_keys,
    decode_response,
    encode_response,
    request_definition,
    response_definition,
)

BETWEEN_BROKERS = (
    *("LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown"),
    *("AlterPartition", "Envelope", "AllocateProducerIds"),
)
"""The APIs that brokers in ZooKeeper mode advertise on all listeners, though only brokers use them
(message definitions, listeners: zkBroker). Kafka 4.0 removed the first four."""
ZOOKEEPER_MODE = "LeaderAndIsr"
"""An API that only brokers in ZooKeeper mode advertise."""
WITH_NESTED_STRUCTS = (
    "Metadata",
    "Fetch",
    "Produce",
    "ListOffsets",
    "FindCoordinator",
    "DescribeGroups",
    "CreateTopics",
    "DescribeConfigs",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one run for each API that the target advertises; without a target, one for each API
    known here."""
    examined = metafunc.config.stash.get(EXAMINED, None)
    apis = list(examined.advertised if examined else REQUESTS)
    if "api" in metafunc.fixturenames:
        metafunc.parametrize("api", apis)
    if "throttling_api" in metafunc.fixturenames:
        metafunc.parametrize("throttling_api", [api for api in apis if throttles(api)])


def throttles(api: str) -> bool:
    """Return whether the newest answer of an API has throttle_time_ms. Return False for an API that
    Kafka 4.0 removed, whose messages this suite does not know."""
    key = api_key(api)
    return key in api_keys() and "throttle_time_ms" in response_definition(key).new()._names


def require_a_request(wire: Wire, api: str) -> None:
    """Raise Deviation if the suite cannot make a request of this API, or Unsupported if that is so
    because only brokers in ZooKeeper mode send it, which advertise it to everybody."""
    if api in BETWEEN_BROKERS and ZOOKEEPER_MODE in wire.advertised:
        raise Unsupported(f"no client sends {api}, but brokers in ZooKeeper mode among themselves")
    expect_that(api in REQUESTS, "requests that this case can make", f"with {api}", "none for it")


def versions_of(wire: Wire, api: str) -> list[int]:
    """Return the advertised versions that this suite can speak. Produce is advertised from v0 on by
    brokers that serve it from v3 on (KAFKA-18659)."""
    first, last = wire.advertised[api]
    return [v for v in request_definition(api_key(api)).valid_versions if first <= v <= last]


def ask(wire: Wire, subject: Subject, api: str, version: int) -> bytes:
    """Return the answer's bytes to a minimal request, on a connection of its own."""
    connection = wire.connect()
    connection.send(api, version, minimal_request(api, subject))
    frame = connection.receive_frame()
    connection.close()
    return frame


def read(frame: bytes, api: str, version: int) -> tuple[int, Struct]:
    """Decode the answer to its last byte. Raise Deviation if it cannot be read."""
    try:
        return decode_response(frame, api_key(api), version)
    except Malformed as error:
        raise Deviation(f"answer of {api} v{version}", "as its schema says", error) from None


@case("WIRE-28", "ApiVersions", spec="KIP-35; message definitions, validVersions, nullableVersions")
def test_what_is_advertised_is_answered_as_its_schema_says(wire: Wire, api: str) -> None:
    """Every version that is advertised answers a minimal valid request, and the answer is read by
    its schema without a byte missing or left over, with nulls only where they may be."""
    require_a_request(wire, api)
    subject = Subject(wire)
    for version in versions_of(wire, api):
        read(ask(wire, subject, api, version), api, version)


@case("WIRE-27", "ApiVersions", spec="KIP-482, Tagged Fields", priority="P1")
def test_answers_have_tagged_fields_at_every_level(wire: Wire) -> None:
    """In flexible versions each struct of an answer ends in its tagged fields: written again and
    read again, the answer is the same."""
    for api in [api for api in WITH_NESTED_STRUCTS if api in wire.advertised]:
        subject = Subject(wire)
        flexible = response_definition(api_key(api)).flexible_versions
        for version in [v for v in versions_of(wire, api) if v in flexible]:
            correlation_id, answer = read(ask(wire, subject, api, version), api, version)
            again = encode_response(api_key(api), version, correlation_id, answer)[4:]
            expect(read(again, api, version)[1], answer, f"answer of {api} v{version} read again")


@case("WIRE-29", "ApiVersions", spec="KIP-219; message definitions, ThrottleTimeMs", priority="P1")
def test_nobody_is_throttled_without_quotas(wire: Wire, throttling_api: str) -> None:
    """throttle_time_ms must be 0 in every response if there are no quotas; if there were quotas,
    once their throttling time has passed."""
    require_a_request(wire, throttling_api)
    subject, version = Subject(wire), versions_of(wire, throttling_api)[-1]
    if throttled_ms(wire, subject, throttling_api, version):
        require_no_quotas(wire)
    eventually(
        lambda: throttled_ms(wire, subject, throttling_api, version),
        lambda found: found == 0,
        f"throttle_time_ms of {throttling_api} v{version} is 0",
    )


def throttled_ms(wire: Wire, subject: Subject, api: str, version: int) -> int:
    """Return the throttle time in the answer to a minimal request."""
    connection = wire.connect()
    answer = connection.call(api, version, minimal_request(api, subject))
    connection.close()
    return int(answer.throttle_time_ms)
