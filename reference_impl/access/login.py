"""Log in by SASL: yield the requests of one connection one after the other, without a socket.

Sources: KIP-43 (SaslHandshake), KIP-152 (SaslAuthenticate), KIP-368 (session lifetime), RFC 4616
(PLAIN), KIP-84 (SCRAM), KIP-255 and RFC 7628 (OAUTHBEARER).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from reference_impl.access.scram import HASHES, Scram
from reference_impl.access.settings import Access
from reference_impl.wire import (
    ApiKey,
    ErrorCode,
    Malformed,
    Struct,
    decode_response,
    encode_request,
    error_name,
    request_definition,
)

Exchange = Generator[bytes, bytes | bytearray, int]
"""A generator that yields a framed request and is sent the frame of its answer. It returns the
milliseconds for which the session lasts; 0: without end."""
CLIENT_ID = "touchstone"
NEWEST = {ApiKey.SASL_HANDSHAKE: 1, ApiKey.SASL_AUTHENTICATE: 2}


class LoginRefused(OSError):
    """The broker rejected the login, or its response cannot be read; the message is one
    sentence."""


def login(access: Access, versions: dict[int, int] | None = None) -> Exchange:
    """Yield the framed requests of a login, and be sent their responses. Return the milliseconds
    for which the session lasts (0: without end). Raise LoginRefused if the broker refuses, or its
    response cannot be read.

    versions: API key -> its newest version. An empty one is filled by asking the broker; to renew a
    login, pass it again, since a broker closes a session at its end that asks for anything but a
    login.
    """
    versions = {} if versions is None else versions
    if not versions:
        versions |= yield from _versions()
    mechanism = access.mechanism or ""
    answer = yield from _ask(ApiKey.SASL_HANDSHAKE, versions, mechanism=mechanism)
    if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        raise LoginRefused("this listener demands no login, so sasl.mechanism cannot be used there")
    if answer.error_code:
        raise LoginRefused(
            f"sasl.mechanism {mechanism} is not enabled there; give one of those that are:"
            f" {', '.join(answer.mechanisms) or 'none, so give another listener'}"
        )
    if mechanism in HASHES:
        return (yield from _scram(access, versions))
    answer = yield from _authenticate(access, versions, _only_token(access))
    return _lifetime_ms(answer)


def _only_token(access: Access) -> bytes:
    """Return the single client message of PLAIN or OAUTHBEARER."""
    if access.mechanism == "PLAIN":
        return f"\0{access.username}\0{access.password}".encode()
    assert access.token is not None  # the code that read the settings has checked this
    return f"n,,\x01auth=Bearer {access.token().value}\x01\x01".encode()


def _scram(access: Access, versions: dict[int, int]) -> Generator[bytes, bytes | bytearray, int]:
    exchange = Scram(access.mechanism or "", access.username, access.password)
    first = yield from _authenticate(access, versions, exchange.first())
    try:
        proof = exchange.final(bytes(first.auth_bytes))
    except (KeyError, ValueError) as error:
        raise LoginRefused("the broker's first message of SCRAM cannot be read") from error
    final = yield from _authenticate(access, versions, proof)
    if bytes(final.auth_bytes) != exchange.server_signature():
        raise LoginRefused(
            "the server's SCRAM signature is wrong: it does not know this user's password, so it"
            " may not be your broker; check the address"
        )
    return _lifetime_ms(final)


def _versions() -> Generator[bytes, bytes | bytearray, dict[int, int]]:
    """Ask the broker with ApiVersions, which is permitted before SASL, and return API key -> its
    newest version."""
    answer = yield from _ask(ApiKey.API_VERSIONS, {})
    return {row.api_key: row.max_version for row in answer.api_keys}


def _authenticate(
    access: Access, versions: dict[int, int], token: bytes
) -> Generator[bytes, bytes | bytearray, Struct]:
    answer = yield from _ask(ApiKey.SASL_AUTHENTICATE, versions, auth_bytes=token)
    if answer.error_code:
        name = error_name(answer.error_code)
        who = f"user {access.username!r}" if access.username else "the bearer of this token"
        raise LoginRefused(f"{who} is refused by {access.mechanism}: {name}")
    if access.mechanism == "OAUTHBEARER" and answer.auth_bytes:
        raise LoginRefused("the bearer of this token is refused by OAUTHBEARER")  # RFC 7628
    return answer


def _ask(
    api: ApiKey, versions: dict[int, int], **fields: Any
) -> Generator[bytes, bytes | bytearray, Struct]:
    version = min(NEWEST.get(api, 0), versions.get(api, 0))
    request = encode_request(api, version, 1, CLIENT_ID, request_definition(api).new(**fields))
    frame = yield request
    try:
        return decode_response(frame, api, version)[1]
    except Malformed as error:
        raise LoginRefused(f"the answer to {api.name} cannot be read: {error}") from error


def _lifetime_ms(answer: Struct) -> int:
    return int(getattr(answer, "session_lifetime_ms", 0) or 0)
