"""ApiVersions: how client and broker agree on versions (KIP-35, KIP-511)."""

from __future__ import annotations

import struct

import pytest

from conformance.case import case, expect, expect_that
from conformance.cases.security.secured_wire import come_in, expect_served
from conformance.clients.sasl import log_in
from conformance.target.examination import CAMEL, Examined
from conformance.target.secured import PASSWORDS, SECURED
from conformance.wire import Connection, Wire, request
from reference_impl.wire import ApiKey, ErrorCode, Struct, decode_response

API_VERSIONS = int(ApiKey.API_VERSIONS)
TOO_NEW = 127
EVERY_CLIENT_NEEDS = (
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.API_VERSIONS,
)


def api_versions(connection: Connection, version: int) -> Struct:
    return connection.call(
        "ApiVersions", version, client_software_name="touchstone", client_software_version="1.0"
    )


def ask_too_new(connection: Connection, correlation_id: int) -> Struct:
    """Send ApiVersions v127 with a version 2 header; the answer is encoded as version 0."""
    header = struct.pack(">hhih", API_VERSIONS, TOO_NEW, correlation_id, 1) + b"c\0"
    connection.send_bytes(struct.pack(">i", len(header)) + header)
    answered, answer = decode_response(connection.receive_frame(), API_VERSIONS, 0)
    expect(answered, correlation_id, "correlation id")
    return answer


@case("APIV-01", "ApiVersions", spec="KIP-35, ApiVersionsRequest")
def test_the_first_request_lists_what_is_served(wire: Wire, version: int) -> None:
    """ApiVersions as first request of a connection answers NONE with a range per api key, lowest
    at most highest, no key twice, and the keys that every client needs; the ranges are the same
    in every version."""
    answer = api_versions(wire.connect(), version)
    expect(answer.error_code, ErrorCode.NONE, "error")
    keys = [a.api_key for a in answer.api_keys]
    expect_that(len(keys) == len(set(keys)), "api keys", "each once", sorted(keys))
    bad = [
        (a.api_key, a.min_version, a.max_version)
        for a in answer.api_keys
        if not 0 <= a.min_version <= a.max_version
    ]
    expect(bad, [], "ranges that are none")
    missing = sorted(key.name for key in EVERY_CLIENT_NEEDS if key not in keys)
    expect(missing, [], "keys that every client needs and that are missing")
    told = {a.api_key: (a.min_version, a.max_version) for a in answer.api_keys}
    known = {CAMEL[key]: told[key] for key in ApiKey if key in told}
    expect(known, dict(wire.advertised), "ranges, as version 0 told them")


@case("APIV-02", "ApiVersions", spec="KIP-511, ApiVersionsRequest.getErrorResponse")
def test_a_version_too_new_is_answered_with_the_known_range(wire: Wire) -> None:
    """ApiVersions v127 is answered in version 0: UNSUPPORTED_VERSION (35) with the range of
    ApiVersions itself."""
    answer = ask_too_new(wire.connect(), 5)
    expect(answer.error_code, ErrorCode.UNSUPPORTED_VERSION, "error")
    ranges = {a.api_key: (a.min_version, a.max_version) for a in answer.api_keys}
    expect(ranges, {API_VERSIONS: wire.advertised["ApiVersions"]}, "ranges in the answer")


@case(
    "APIV-14",
    "ApiVersions",
    spec="KIP-511; SaslServerAuthenticator.handleApiVersionsRequest",
    priority="P2",
    config=SECURED,
)
def test_a_version_too_new_before_the_handshake_is_answered(wire: Wire, examined: Examined) -> None:
    """On a listener with SASL, ApiVersions v127 as the first request gets UNSUPPORTED_VERSION
    (35) with the range of ApiVersions; then handshake and authentication succeed on the same
    connection."""
    connection = come_in(wire, examined, "SASL")
    answer = ask_too_new(connection, 7)
    expect(answer.error_code, ErrorCode.UNSUPPORTED_VERSION, "error")
    ranges = {a.api_key: (a.min_version, a.max_version) for a in answer.api_keys}
    expect(ranges, {API_VERSIONS: wire.advertised["ApiVersions"]}, "ranges in the answer")
    told = log_in(connection, "PLAIN", "alice", PASSWORDS["alice"])
    expect(told.error_code, ErrorCode.NONE, "error of the authentication")
    expect_served(connection)


@case("APIV-03", "ApiVersions", spec="KIP-511")
def test_the_connection_lives_on_after_a_version_too_new(wire: Wire, version: int) -> None:
    """After UNSUPPORTED_VERSION the client may ask again on the same connection, in a version that
    is served."""
    connection = wire.connect()
    ask_too_new(connection, 1)
    answer = api_versions(connection, version)
    expect(answer.error_code, ErrorCode.NONE, "error of the second request")
    expect_that(len(answer.api_keys) > 1, "api keys", "more than one", len(answer.api_keys))


@pytest.mark.parametrize("name", ["a b!", "", "-a", "a-"], ids=repr)
@case("APIV-04", "ApiVersions", versions=(3, 4), spec="KIP-511; class ApiVersionsRequest, isValid")
def test_an_invalid_software_name_is_refused(wire: Wire, version: int, name: str) -> None:
    """A client software name other than [a-zA-Z0-9](?:[a-zA-Z0-9\\-.]*[a-zA-Z0-9])? gets
    INVALID_REQUEST (42)."""
    answer = wire.connect().call(
        "ApiVersions", version, client_software_name=name, client_software_version="1.0"
    )
    expect(answer.error_code, ErrorCode.INVALID_REQUEST, "error")


@case("APIV-10", "ApiVersions", spec="KIP-35", priority="P1")
def test_it_may_be_asked_again_later(wire: Wire, version: int) -> None:
    """ApiVersions is also answered after other requests of a connection, with the same lists of
    APIs and features."""
    connection = wire.connect()
    first = rows_of(api_versions(connection, version))
    connection.call("Metadata", wire.version("Metadata"), topics=[])
    expect(rows_of(api_versions(connection, version)), first, "lists of the second answer")


def rows_of(answer: Struct) -> list[list[str]]:
    """Return the lists of an answer, whose order means nothing."""
    lists = (answer.api_keys, answer.supported_features, answer.finalized_features)
    return [sorted(map(repr, rows)) for rows in lists]


@case("APIV-07", "ApiVersions", spec="KIP-35; EdgeCaseRequestTest")
def test_what_is_not_advertised_is_not_served(wire: Wire) -> None:
    """A request of an api key that is known to Kafka but not advertised ends the connection, as
    does one version above the advertised range."""
    for key in ApiKey:
        name = CAMEL[key]
        if name in wire.advertised and key is not ApiKey.API_VERSIONS:
            version = wire.advertised[name][1] + 1
        elif name not in wire.advertised:
            version = 0
        else:
            continue
        connection = wire.connect()
        payload = struct.pack(">hhih", int(key), version, 1, 1) + b"c\0\0\0\0\0\0"
        connection.send_bytes(struct.pack(">i", len(payload)) + payload)
        expect_that(
            connection.is_closed_by_peer(),
            f"{name} v{version}, not advertised",
            "connection closed",
            "an answer, or an open connection",
        )
        connection.close()


@case("WIRE-06", "ApiVersions", versions=(3, 4), spec="KIP-511; ApiVersionsResponse.json")
def test_the_answers_header_stays_version_0(wire: Wire, version: int) -> None:
    """The header of an ApiVersions answer has no tagged fields, although its body is flexible: so
    a client can read it without knowing the version."""
    connection = wire.connect()
    body = request("ApiVersions", client_software_name="t", client_software_version="1")
    sent = connection.send("ApiVersions", version, body)
    frame = connection.receive_frame()
    expect(struct.unpack_from(">i", frame)[0], sent, "correlation id")
    expect(struct.unpack_from(">h", frame, 4)[0], ErrorCode.NONE, "error right behind it")
    # A compact array's length in one byte or two; no tagged section before it.
    entries = frame[6] - 1 if frame[6] < 0x80 else (frame[6] & 0x7F | frame[7] << 7) - 1
    known = len(api_versions(wire.bootstrap, 0).api_keys)  # with those that only the broker knows
    expect(entries, known, "array length behind it")


@case("WIRE-05", "Metadata", spec="KIP-482, Request and response headers")
def test_headers_are_flexible_where_the_body_is(wire: Wire, version: int) -> None:
    """Flexible versions have a request header v2 and a response header v1, with tagged fields;
    others v1 and v0: both are decoded to the last byte."""
    connection = wire.connect()
    connection.send("Metadata", version, request("Metadata", topics=[]))
    frame = connection.receive_frame()
    flexible = version >= 9
    if flexible:
        expect(frame[4], 0, "number of tagged fields in the answer's header")
    _, answer = decode_response(frame, int(ApiKey.METADATA), version)
    expect_that(len(answer.brokers) > 0, "brokers", "at least one", answer.brokers)
