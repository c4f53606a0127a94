"""Test the terms of an examination: its level, its waits, its replicas."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from conformance.case import Unsupported
from conformance.connection import Connection, api_key, request
from conformance.patience import PATIENCE
from conformance.terms import LEVELS, READS, TERMS, WRITES, Terms
from conformance.wire import part
from reference_impl.wire import API_NAMES, encode_request


@pytest.fixture
def connection() -> Iterator[Connection]:
    """Provide a connection to a server that reads nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        made = Connection(*server.getsockname())
        yield made
        made.close()


def test_each_api_named_is_one_and_has_one_level() -> None:
    assert set() == READS & WRITES
    assert set(API_NAMES.values()) >= READS | WRITES
    assert not [api for api in READS if api.startswith(("Alter", "Create", "Delete", "Update"))]


@pytest.mark.parametrize(
    ("level", "allowed", "refused"),
    [
        ("read-only", "Metadata", "Produce"),
        ("produce", "Produce", "AlterConfigs"),
        ("admin", "AlterConfigs", None),
    ],
)
def test_a_level_sends_no_request_of_a_higher_one(
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    level: str,
    allowed: str,
    refused: str | None,
) -> None:
    monkeypatch.setattr(TERMS, "level", level)
    versions = {"Metadata": 1, "Produce": 3, "AlterConfigs": 0}
    connection.send(allowed, versions[allowed], request(allowed))
    for api in [refused] if refused else []:
        frame = encode_request(api_key(api), versions[api], 1, "c", request(api))
        with pytest.raises(Unsupported, match=f"{api} needs --level .*; this examination is"):
            connection.send(api, versions[api], request(api))
        with pytest.raises(Unsupported):
            connection.send_bytes(frame)
    with pytest.raises(Unsupported):
        TERMS.require("restart", "a kill")


def test_metadata_that_may_create_a_topic_is_no_reading(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TERMS, "level", "read-only")
    asked = request("Metadata", topics=[part("Metadata", "MetadataRequestTopic", name="t")])
    asked.allow_auto_topic_creation = False
    connection.send("Metadata", 9, asked)
    for version, creates in ((9, True), (3, False)):
        asked.allow_auto_topic_creation = creates
        with pytest.raises(Unsupported, match="may create topics"):
            connection.send("Metadata", version, asked)


def test_all_waits_are_as_many_times_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    PATIENCE.forget()
    monkeypatch.setattr(TERMS, "timeout_scale", 3.0)
    assert PATIENCE.timeout_s("Fetch", 30.0) == 90.0
    assert PATIENCE.awaited_s("a state", 20.0) == 60.0
    assert PATIENCE.settling_s(2.0) == 6.0


def test_the_highest_level_permits_everything() -> None:
    assert all(Terms().permit(level) for level in LEVELS)
