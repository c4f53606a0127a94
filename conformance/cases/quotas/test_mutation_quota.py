"""The quota of changes that a controller makes for a client (KIP-599): controller_mutation_rate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conformance.case import Unsupported, case, expect, expect_that
from conformance.cases.quotas.quotas import CLIENT_ID, alter, entry
from conformance.wire import Wire, eventually, part, request
from reference_impl.wire import ErrorCode, Struct

RATE = 0.1
"""Partitions per second. Those of ten seconds pass at once, so that one request is enough to be
over the quota."""
TOO_MANY = 10


@contextmanager
def limited(wire: Wire, client_id: str) -> Iterator[None]:
    """Set the quota of a client id for a while. Raise Unsupported if the target has none."""
    entity = {CLIENT_ID: client_id}
    if alter(wire, entry(entity, controller_mutation_rate=RATE)) != [ErrorCode.NONE]:
        raise Unsupported("the target has no quota of the controller's changes")
    try:
        yield
    finally:
        alter(wire, entry(entity, controller_mutation_rate=None))


def create(wire: Wire, version: int, client_id: str, name: str) -> Struct:
    """Send CreateTopics for one topic of many partitions under this client id."""
    topic = part(
        "CreateTopics", "CreatableTopic", name=name, num_partitions=TOO_MANY, replication_factor=-1
    )
    connection = wire.connect()
    body = request("CreateTopics", topics=[topic], timeout_ms=20_000)
    connection.send("CreateTopics", version, body, client_id=client_id)
    return connection.receive("CreateTopics", version)[1]


@case("QUOT-05", "CreateTopics", versions=(6, 7), spec="KIP-599", priority="P2")
def test_a_client_over_its_quota_of_changes_is_refused(wire: Wire, version: int) -> None:
    """From v6 on a topic beyond controller_mutation_rate gets THROTTLING_QUOTA_EXCEEDED (89), with
    the time to wait in throttle_time_ms, and is not created; another client's topic is."""
    client_id = wire.new_name("client")
    with limited(wire, client_id):
        refused = eventually(  # the quota reaches the controller a moment after it was accepted
            lambda: create(wire, version, client_id, wire.new_name("refused")),
            lambda answer: answer.topics[0].error_code != ErrorCode.NONE,
            "a topic is refused",
            at_once=True,
        )
        found = refused.topics[0]
        expect(found.error_code, ErrorCode.THROTTLING_QUOTA_EXCEEDED, "error")
        expect_that(refused.throttle_time_ms > 0, "time to wait", "> 0", refused.throttle_time_ms)
        missing = wire.topic_metadata(found.name).error_code
        expect(missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Metadata of the refused topic")
        other = create(wire, version, wire.new_name("client"), wire.new_name("accepted"))
        expect(other.topics[0].error_code, ErrorCode.NONE, "error of another client")
