"""Helpers of the cases about delegation tokens: create a token, log in with it."""

from __future__ import annotations

import base64
from typing import Any

from conformance.case import expect
from conformance.cases.security.secured_wire import come_in
from conformance.clients import sasl
from conformance.connection import Connection
from conformance.target.controlled import Guest
from conformance.target.examination import Examined
from conformance.wire import Wire, eventually, part
from reference_impl.wire import ErrorCode, Struct

CREATE, DESCRIBE = "CreateDelegationToken", "DescribeDelegationToken"
RENEW, EXPIRE = "RenewDelegationToken", "ExpireDelegationToken"
DAY_MS = 24 * 60 * 60 * 1000
HMAC_BYTES = 64
"""The size of an HMAC (HmacSHA512) in bytes."""
BY_TOKEN = ",tokenauth=true"


def renewers(*names: str, kind: str = "User") -> list[Struct]:
    """Return rows of CreateDelegationToken for users who may renew the token besides its owner."""
    return [
        part(CREATE, "CreatableRenewers", principal_type=kind, principal_name=name)
        for name in names
    ]


def owners(*names: str) -> list[Struct]:
    """Return rows of DescribeDelegationToken for the owners whose tokens are requested."""
    return [
        part(DESCRIBE, "DescribeDelegationTokenOwner", principal_type="User", principal_name=name)
        for name in names
    ]


def make(guest: Guest, version: int | None = None, **fields: Any) -> Struct:
    """Create a token, which must succeed; return the answer once the broker knows the token."""
    fields = {"max_lifetime_ms": -1} | fields
    token = guest.call(CREATE, version, **fields)
    expect(token.error_code, ErrorCode.NONE, "CreateDelegationToken error")
    # A broker learns of a new token a moment after the controller has written it down.
    eventually(lambda: seen(guest), lambda found: token.token_id in found, "the token is described")
    return token


def seen(guest: Guest, version: int | None = None, *names: str) -> dict[str, Struct]:
    """Return token id -> token for the tokens that DescribeDelegationToken shows this guest: those
    of these owners or, without names, of all."""
    answer = guest.call(DESCRIBE, version, owners=owners(*names) if names else None)
    expect(answer.error_code, ErrorCode.NONE, "DescribeDelegationToken error")
    found = {row.token_id: row for row in answer.tokens}
    expect(len(answer.tokens), len(found), "tokens, each once")
    return found


def log_in(
    wire: Wire,
    examined: Examined,
    token: Struct,
    *,
    mechanism: str = "SCRAM-SHA-256",
    user: str | None = None,
    hmac: bytes | None = None,
    extensions: str = BY_TOKEN,
) -> tuple[Connection, Struct]:
    """Log in with a token over a fresh connection; return it, and the last answer of the
    exchange."""
    connection = come_in(wire, examined, "SASL")
    password = base64.b64encode(bytes(token.hmac) if hmac is None else hmac).decode()
    answer = sasl.log_in(
        connection, mechanism, user or token.token_id, password, extensions=extensions
    )
    return connection, answer
