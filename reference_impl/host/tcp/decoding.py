"""Decode a frame into a request."""

from collections.abc import Mapping

from reference_impl.core.events import Request
from reference_impl.core.requests.api import Api
from reference_impl.wire import (
    ApiKey,
    Malformed,
    RequestHeader,
    Struct,
    decode_request_header,
    not_served,
    request_definition,
)


def decoded(
    frame: bytearray,
    apis: Mapping[int, Api],
    elements_max: int | None,
    connection: int,
    client_host: str,
) -> Request:
    """Return the request in a frame of this connection. Leave out the body of ApiVersions in an
    unknown version. Raise Malformed, also if `apis` lacks another API or version, or
    TooManyElements if the frame has more than `elements_max`."""
    header, start = decode_request_header(frame, elements_max)
    body = _body(header, memoryview(frame)[start:], apis, elements_max)
    return Request(
        connection,
        header.api_key,
        header.api_version,
        header.correlation_id,
        header.client_id,
        client_host,
        body,
        len(frame),
    )


def _body(
    header: RequestHeader, view: memoryview, apis: Mapping[int, Api], elements_max: int | None
) -> Struct:
    api = apis.get(header.api_key)
    if api is not None and api.serves(header.api_version):
        definition = request_definition(header.api_key)
        # Bytes after the body are tolerated, as Kafka does (RequestContext.parseRequest).
        return definition.decode_prefix(view, header.api_version, elements_max)[0]
    if header.api_key == ApiKey.API_VERSIONS:
        # The answer does not depend on the body, so a body of an unknown version is not read.
        return request_definition(header.api_key).new()
    raise Malformed(not_served(header.api_key, header.api_version))
