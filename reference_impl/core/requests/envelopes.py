"""Envelopes: a client's request on its way from a broker to the active controller, and back.

The broker vouches for the principal and the address of the client, so that the controller asks its
authorizer about the client instead of the broker.

Source: KIP-590; ForwardingManager.scala, EnvelopeUtils.scala, DefaultKafkaPrincipalBuilder.java.
"""

from __future__ import annotations

import struct
from ipaddress import ip_address

from reference_impl.core.broker import Broker
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.wire import (
    ErrorCode,
    Malformed,
    Struct,
    decode_request,
    decode_request_header,
    decode_response,
    definition,
    encode_request,
    encode_response,
)

ENVELOPE = definition("EnvelopeRequest")
PRINCIPAL = definition("DefaultPrincipalData")
_SIZE_BYTES = 4
_VERSION = struct.Struct(">h")
"""The encoding of the version number that precedes a serialized principal."""
PRINCIPAL_VERSION = 0
UNKNOWN_HOST = "0.0.0.0"


def put_in_envelope(broker: Broker, request: Request) -> Struct:
    """Return the body of the Envelope request in which a broker forwards a client's request."""
    kind, _, name = broker.access.principal_of(request).partition(":")
    session = broker.authentication.session_of(request)
    principal = PRINCIPAL.new(
        type=kind,
        name=name,
        token_authenticated=session is not None and session.token_expiry_ms is not None,
    )
    frame = encode_request(
        request.api_key,
        request.api_version,
        request.correlation_id,
        request.client_id,
        request.body,
    )
    host = request.client_host.rpartition("/")[2].partition("%")[0]
    return ENVELOPE.new(
        request_data=frame[_SIZE_BYTES:],
        request_principal=(
            _VERSION.pack(PRINCIPAL_VERSION) + PRINCIPAL.encode(principal, PRINCIPAL_VERSION)
        ),
        client_host_address=ip_address(host or UNKNOWN_HOST).packed,
    )


def take_from_envelope(broker: Broker, envelope: Request) -> Request:
    """Return the client's request that an envelope holds. Raise Refused if the envelope is damaged,
    or contains a request that may not be forwarded or has a version that is not served
    (EnvelopeUtils.handleEnvelopeRequest)."""
    named = principal_in(bytes(envelope.body.request_principal or b""))
    sender = broker.access.principal_of(envelope)
    principal = broker.rules.forwarded_principal(named, sender)
    client_host = address_in(bytes(envelope.body.client_host_address))
    data = bytes(envelope.body.request_data)
    try:
        header, _ = decode_request_header(data)
    except Malformed as error:
        raise Refused(ErrorCode.INVALID_REQUEST, str(error)) from None
    api = broker.controller.apis.get(header.api_key)
    if api is None or header.api_key not in broker.apis:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"API {header.api_key} is not eligible for forwarding"
        )
    if not api.serves(header.api_version):
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    try:
        header, body = decode_request(data)
    except Malformed as error:
        # With this error, the broker closes the connection of the client that sent the request.
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, str(error)) from None
    return Request(
        envelope.connection,
        header.api_key,
        header.api_version,
        header.correlation_id,
        header.client_id,
        client_host,
        body,
        len(data),
        principal,
    )


def principal_in(data: bytes) -> str:
    """Return the principal that these bytes of an envelope encode. Raise
    Refused(PRINCIPAL_DESERIALIZATION_FAILURE) if they are malformed."""
    try:
        (version,) = _VERSION.unpack_from(data)
        if version != PRINCIPAL_VERSION:
            raise Malformed(f"version {version} is unknown", message="DefaultPrincipalData")
        principal = PRINCIPAL.decode(data[_VERSION.size :], version)
    except (struct.error, Malformed) as error:
        raise Refused(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, str(error)) from None
    return f"{principal.type}:{principal.name}"


def address_in(data: bytes) -> str:
    """Return the client's address in these bytes, as Java writes it. Raise Refused(INVALID_REQUEST)
    if they are not an address."""
    try:
        return f"/{ip_address(data)}"
    except ValueError as error:
        raise Refused(ErrorCode.INVALID_REQUEST, str(error)) from None


def answer_to_envelope(request: Request, body: Struct) -> Struct:
    """Return the envelope response that contains the answer to a forwarded request."""
    frame = encode_response(request.api_key, request.api_version, request.correlation_id, body)
    return definition("EnvelopeResponse").new(response_data=frame[_SIZE_BYTES:])


def answer_in(request: Request, data: bytes) -> Struct:
    """Return the answer to a client's request that the controller's envelope holds. Raise Malformed
    if it cannot be decoded."""
    return decode_response(data, request.api_key, request.api_version)[1]
