"""Answers must repeat their requests: for each API a right answer passes, and every wrong one is
named."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from conformance.case import Deviation
from conformance.connection import Connection
from conformance.echoes import ECHOES, SPECIAL, Echo, Level, _levels, check
from conformance.tests.fake import FakeKafka, piece, response
from conformance.wire import api_key, part, request
from reference_impl.wire import Struct, request_definition, response_definition
from reference_impl.wire.codec.fields import Field

ROWS = [(api, echo) for api, echoes in ECHOES.items() for echo in echoes]
NUMBERS = ("int8", "int16", "int32", "int64")


def newest(api: str, echo: Echo) -> int:
    """Return the newest version in which request and answer have these lists."""
    versions = reversed(request_definition(api_key(api)).valid_versions)
    return next(
        v
        for v in versions
        if _levels("request", api, v, echo.asked) and _levels("response", api, v, echo.told)
    )


def value(field: Field, number: int) -> Any:
    """Return the number, as a value of this field."""
    if field.is_array:  # a quota's entity, the only list that is a key
        assert field.struct is not None
        return [field.struct.cls(entity_type="user", entity_name=str(number))]
    if field.type == "uuid":
        return uuid.UUID(int=number)
    return number if field.type in NUMBERS else str(number)


def message(kind: str, api: str, levels: tuple[Level, ...], numbers: list[int]) -> Struct:
    """Return a message with a row for each number, which is the key of every level above it,
    too."""
    define = request_definition if kind == "request" else response_definition
    root = define(api_key(api)).root
    made = root.cls()
    fill(made, {f.name: f for f in root.fields}, levels, numbers)
    return made


def fill(
    above: Struct, fields: dict[str, Field], levels: tuple[Level, ...], numbers: list[int]
) -> None:
    (name, keys), rest = levels[0], levels[1:]
    struct = fields[name].struct
    if getattr(above, name) is None:
        setattr(above, name, [])
    for number in numbers:
        if struct is None:
            getattr(above, name).append(value(replace(fields[name], is_array=False), number))
            continue
        inner = {f.name: f for f in struct.fields}
        row = struct.cls(**{key: value(inner[key], number) for key in keys})
        getattr(above, name).append(row)
        if rest:
            fill(row, inner, rest, [number])


@pytest.mark.parametrize(("api", "echo"), ROWS, ids=lambda v: v if isinstance(v, str) else "")
def test_an_answer_about_other_things_is_named(api: str, echo: Echo) -> None:
    version = newest(api, echo)
    asked_at = _levels("request", api, version, echo.asked)
    told_at = _levels("response", api, version, echo.told)
    assert asked_at is not None
    assert told_at is not None
    asked = message("request", api, asked_at, [1, 2])
    if api == "Fetch":
        asked.session_epoch = -1
    check(api, version, asked, message("response", api, told_at, [2, 1]))
    wrong = {"another": [1, 3], "one twice": [1, 2, 2], "one more": [1, 2, 3]}
    if echo.complete:
        wrong |= {"one too few": [1], "none": []}
    for numbers in wrong.values():
        with pytest.raises(Deviation, match="entries in the answer"):
            check(api, version, asked, message("response", api, told_at, numbers))


def test_topics_are_known_by_name_or_id() -> None:
    known, other = uuid.uuid4(), uuid.uuid4()
    by_id = request(
        "Metadata", topics=[part("Metadata", "MetadataRequestTopic", name=None, topic_id=known)]
    )
    right = piece("Metadata", "MetadataResponseTopic", name="t", topic_id=known)
    wrong = piece("Metadata", "MetadataResponseTopic", name="t", topic_id=other)
    check("Metadata", 13, by_id, response("Metadata", topics=[right]))
    for topics in ([wrong], [], [right, right]):
        with pytest.raises(Deviation):
            check("Metadata", 13, by_id, response("Metadata", topics=topics))


def test_a_member_keeps_its_id() -> None:
    asked = request("JoinGroup", member_id="m")
    check("JoinGroup", 9, asked, response("JoinGroup", member_id="m"))
    check("JoinGroup", 9, request("JoinGroup"), response("JoinGroup", member_id="given"))
    with pytest.raises(Deviation, match="member id"):
        check("JoinGroup", 9, asked, response("JoinGroup", member_id="n"))


def test_results_without_a_name_are_counted() -> None:
    asked = request("CreateAcls", creations=[part("CreateAcls", "AclCreation")])
    with pytest.raises(Deviation, match="number of results"):
        check("CreateAcls", 3, asked, response("CreateAcls"))


def test_every_api_that_has_a_rule_of_its_own_exists() -> None:
    for api in (*ECHOES, *SPECIAL):
        assert api_key(api) >= 0


class Confused(FakeKafka):
    """Answers the second request first."""

    def encoded(self, key: int, version: int, correlation_id: int, answer: Struct) -> bytes:
        return super().encoded(key, version, correlation_id + 1, answer)


def test_an_answer_out_of_turn_is_named() -> None:
    kafka = Confused({"Heartbeat": lambda *_: response("Heartbeat")})
    connection = Connection(*kafka.address)
    for _ in range(2):
        connection.send("Heartbeat", 4, request("Heartbeat", group_id="g", member_id="m"))
    with pytest.raises(Deviation, match="correlation id of the next answer"):
        connection.receive("Heartbeat", 4)
    connection.close()
    kafka.stop()


class Elsewhere(FakeKafka):
    """Sends each client what another one has asked for."""

    def encoded(self, key: int, version: int, correlation_id: int, answer: Struct) -> bytes:
        header = super().encoded(key, version, correlation_id + 77, answer)[4:9]
        return len(header).to_bytes(4, "big") + header


def test_an_answer_to_another_client_is_named_though_it_cannot_be_read() -> None:
    kafka = Elsewhere({"Heartbeat": lambda *_: response("Heartbeat")})
    connection = Connection(*kafka.address)
    with pytest.raises(Deviation, match="correlation id of the answer"):
        connection.call("Heartbeat", 4, group_id="g", member_id="m")
    connection.close()
    kafka.stop()
