"""Helpers of the SEC cases: connect to a listener, make a user of SCRAM."""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Mapping
from typing import Any

from conformance.case import expect, expect_that
from conformance.clients import sasl
from conformance.connection import Connection, ConnectionClosed
from conformance.target import certificates
from conformance.target.examination import Examined
from conformance.target.secured import PASSWORDS
from conformance.wire import Wire, eventually, part
from reference_impl.wire import ErrorCode, Struct


def come_in(wire: Wire, examined: Examined, listener: str) -> Connection:
    """Open a connection to one of the listeners of SECURED, without authenticating."""
    host, _, port = examined.cluster.listeners[listener].rpartition(":")
    connection = wire.connect(address=(host, int(port)))
    if listener in ("TLS", "SASL_TLS"):
        context = ssl.create_default_context(cadata=certificates.for_loopback().chain)
        connection.socket = context.wrap_socket(connection.socket, server_hostname=host)
    return connection


def come_in_as(wire: Wire, examined: Examined, user: str, *, listener: str = "SASL") -> Connection:
    """Open a connection and authenticate as one of the users of PLAIN."""
    connection = come_in(wire, examined, listener)
    answer = sasl.log_in(connection, "PLAIN", user, PASSWORDS[user])
    expect(answer.error_code, ErrorCode.NONE, f"error of {user}")
    return connection


def add_user(
    wire: Wire,
    examined: Examined,
    mechanism: str,
    password: str,
    *,
    iterations: int = sasl.ITERATIONS_MIN,
    user: str | None = None,
) -> str:
    """Add a SCRAM user with this password, wait until the broker knows it, and return its name."""
    user = user or wire.new_name("user")
    row = upsertion(user, mechanism, password, iterations)
    answer = wire.call("AlterUserScramCredentials", upsertions=[row])
    expect(errors_by_user(answer), {user: ErrorCode.NONE}, "AlterUserScramCredentials")

    def error() -> int:
        answer = sasl.log_in(come_in(wire, examined, "SASL"), mechanism, user, password)
        return int(answer.error_code)

    # A broker learns of a new user a moment after the controller has written it down.
    eventually(error, lambda code: code == ErrorCode.NONE, f"{user} can log in")
    return user


def upsertion(
    user: str, mechanism: str, password: str, iterations: int = sasl.ITERATIONS_MIN
) -> Struct:
    """Return a row of AlterUserScramCredentials that sets a password."""
    salt = os.urandom(16)
    return part(
        "AlterUserScramCredentials",
        "ScramCredentialUpsertion",
        name=user,
        mechanism=sasl.TYPES[mechanism],
        iterations=iterations,
        salt=salt,
        salted_password=sasl.salted(mechanism, password, salt, iterations),
    )


def errors_by_user(answer: Struct) -> Mapping[str, ErrorCode]:
    """Return the error code of each user in an answer of KIP-554."""
    return {row.user: ErrorCode(row.error_code) for row in answer.results}


def expect_served(connection: Connection) -> None:
    """Require that an authenticated client gets answers."""
    answer = connection.call("DescribeCluster", 0)
    expect(answer.error_code, ErrorCode.NONE, "DescribeCluster")


def words_of(answer: Struct, name: str) -> str:
    """Return the message of an answer without the name that the client gave, which a broker may
    repeat."""
    return (answer.error_message or "").replace(name, "")


def expect_closed(connection: Connection) -> None:
    """Require that the broker closes, and sends nothing before that."""
    expect_that(
        connection.is_closed_by_peer(), "the connection", "closed", "still open, or answered"
    )


def expect_not_served(
    connection: Connection, api: str = "DescribeCluster", version: int = 0, **fields: Any
) -> None:
    """Require that a request gets no answer now: the connection is, or gets, closed."""
    try:
        connection.call(api, version, **fields)
    except (ConnectionClosed, ConnectionError):
        return
    expect(f"an answer to {api}", "the connection closed")


def wait_ms(milliseconds: int) -> None:
    """Wait for a time that the requirement names, such as the end of a session or a throttle."""
    end = time.monotonic() + milliseconds / 1000
    while (left := end - time.monotonic()) > 0:
        time.sleep(left)
