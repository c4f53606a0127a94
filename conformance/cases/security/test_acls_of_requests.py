"""Each API asks for its permission, and says no in its own place. SEC-09, TXN-46.

Source: KIP-11; AuthorizerIntegrationTest.scala. One row of requests.py is one run: the guest asks
without the permission, about something that exists and something that does not, then with it.
"""

from __future__ import annotations

import pytest

from conformance.case import case, expect, expect_that
from conformance.cases.offsets.offsets import commit
from conformance.cases.security.bodies import GROUP, TRANSACTIONAL_ID, Names
from conformance.cases.security.requests import (
    OF,
    OF_GROUPS,
    OF_THE_CLUSTER,
    OF_TOPICS,
    OF_TRANSACTIONAL_IDS,
    Row,
)
from conformance.clients.transactions import Producer
from conformance.target.controlled import CONTROLLED, REFUSALS, Guest, codes_in
from conformance.wire import Wire
from reference_impl.wire import ErrorCode

SPEC = "KIP-11; documentation, Operations and Resources on Protocols"


@pytest.mark.parametrize("row", OF_TOPICS, ids=str)
@case("SEC-09", "CreateAcls", spec=SPEC, priority="P1", config=CONTROLLED)
def test_who_may_not_gets_no_topic(wire: Wire, alice: Guest, row: Row) -> None:
    """Without permission on a topic each request about it gets TOPIC_AUTHORIZATION_FAILED (29),
    whether or not the topic exists; with permission it does not."""
    check(wire, alice, row)


@pytest.mark.parametrize("row", OF_GROUPS, ids=str)
@case("SEC-09", "CreateAcls", spec=SPEC, priority="P1", config=CONTROLLED)
def test_who_may_not_gets_no_group(wire: Wire, alice: Guest, row: Row) -> None:
    """Without permission on a group each request gets GROUP_AUTHORIZATION_FAILED (30), whether or
    not the group exists; with permission it does not."""
    check(wire, alice, row)


@pytest.mark.parametrize("row", OF_TRANSACTIONAL_IDS, ids=str)
@case("SEC-09", "CreateAcls", spec=SPEC, priority="P1", config=CONTROLLED)
def test_who_may_not_gets_no_transactional_id(wire: Wire, alice: Guest, row: Row) -> None:
    """Without the permission each request gets TRANSACTIONAL_ID_AUTHORIZATION_FAILED (53), also for
    an id that was never used; with it, no longer."""
    check(wire, alice, row)


@pytest.mark.parametrize("row", OF_THE_CLUSTER, ids=str)
@case("SEC-09", "CreateAcls", spec=SPEC, priority="P1", config=CONTROLLED)
def test_who_may_not_touches_no_cluster(wire: Wire, alice: Guest, row: Row) -> None:
    """Without the permission each request about the cluster gets CLUSTER_AUTHORIZATION_FAILED (31);
    with it, no longer. If a permission on the topic would be enough, the error is the topic's (29).
    """
    check(wire, alice, row)


@case(
    "TXN-46",
    "WriteTxnMarkers",
    spec="KafkaApis.handleWriteTxnMarkersRequest",
    priority="P1",
    config=CONTROLLED,
)
def test_markers_of_an_ordinary_client_end_no_transaction(wire: Wire, alice: Guest) -> None:
    """A client without CLUSTER_ACTION and ALTER of the cluster gets CLUSTER_AUTHORIZATION_FAILED
    (31) for every partition, and the transaction stays open."""
    topic = wire.create_topic()
    producer = Producer.ready(wire)
    producer.add_and_send(topic, b"open")
    (row,) = (
        row for row in OF_THE_CLUSTER if row.api == "WriteTxnMarkers" and row.needs[0] is OF.ALTER
    )
    fields = row.fields(Names(topic.name, "", ""))
    fields["markers"][0].producer_id = producer.producer_id
    fields["markers"][0].producer_epoch = producer.epoch
    answer = alice.call("WriteTxnMarkers", **fields)
    expect(sorted(codes_in(answer)), [ErrorCode.CLUSTER_AUTHORIZATION_FAILED], "error codes")
    last_stable = wire.fetch(topic, 0, isolation_level=1).last_stable_offset
    expect(last_stable, 0, "last stable offset")


def check(wire: Wire, guest: Guest, row: Row) -> None:
    """Require that the request is refused without the permission, whatever exists, and not refused
    with it."""
    version = wire.version(row.api, 0, row.until)
    existing = made(wire, row)
    missing = existing.instead(row.needs[1], wire.new_name("missing"))
    for names in (missing, existing):
        for operation, resource_type in row.given:
            guest.may(operation, resource_type, names.of(resource_type))
        refused = codes_in(guest.call(row.api, version, **row.fields(names)))
        what = "exists" if names is existing else "does not exist"
        expect(sorted(refused), [refusal(row)], f"error codes about what {what}")
    guest.may(*row.needs, existing.of(row.needs[1]))
    allowed = codes_in(guest.call(row.api, version, **row.fields(existing)))
    expect_that(
        not allowed & {int(code) for code in REFUSALS.values()},
        f"error codes with {row.needs[0].name}",
        "none of 29, 30, 31, 53",
        allowed,
    )


def refusal(row: Row) -> ErrorCode:
    """Return the error of a refused row."""
    return REFUSALS[row.refused_as or row.needs[1]]


def made(wire: Wire, row: Row) -> Names:
    """Create a topic, and a group and a transactional id where the row needs one."""
    concerned = {row.needs[1], *(resource_type for _, resource_type in row.given)}
    topic = wire.create_topic()
    names = Names(topic.name, wire.new_name("group"), wire.new_name("transactional"), topic.id)
    if GROUP in concerned:
        commit(wire, names.group, topic, {0: 0})
    if TRANSACTIONAL_ID in concerned:
        Producer.ready(wire, names.transactional_id)
    return names
