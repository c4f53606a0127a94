"""Decode a frame into the header and the body of a request."""

from collections.abc import Mapping

from reference_impl.core.requests.api import Api
from reference_impl.wire import (
    ApiKey,
    RequestHeader,
    Struct,
    decode_request_header,
    request_definition,
)

Decoded = tuple[RequestHeader, Struct | None]


def decoded(frame: bytearray, apis: Mapping[int, Api], elements_max: int | None) -> Decoded:
    """Return (header, body); the body is None if `apis` lacks this API or version. Raise Malformed,
    or TooManyElements if the frame has more than `elements_max`."""
    header, start = decode_request_header(frame, elements_max)
    view = memoryview(frame)[start:]
    api = apis.get(header.api_key)
    if api is not None and api.serves(header.api_version):
        definition = request_definition(header.api_key)
        # Bytes after the body are tolerated, as Kafka does (RequestContext.parseRequest).
        return header, definition.decode_prefix(view, header.api_version, elements_max)[0]
    if header.api_key == ApiKey.API_VERSIONS:
        # The answer does not depend on the body, so a body of an unknown version is not read.
        return header, request_definition(header.api_key).new()
    return header, None
