"""A broker with several listeners advertises the address of the listener that is asked. META-03."""

from __future__ import annotations

import pytest

from conformance.case import case, expect
from conformance.cases.security.secured_wire import come_in, come_in_as
from conformance.target.examination import Examined
from conformance.target.secured import SECURED
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode

WITH_SASL = ("SASL", "BRIEF", "SASL_TLS")


@pytest.mark.parametrize("listener", [*WITH_SASL, "TLS"])
@case(
    "META-03",
    "Metadata",
    spec="KIP-103, Separation of Internal and External traffic",
    config=SECURED,
)
def test_a_broker_is_described_as_its_listener_is_advertised(
    wire: Wire, examined: Examined, version: int, listener: str
) -> None:
    """Metadata, DescribeCluster and FindCoordinator return the advertised address of the listener
    that received the request."""
    if listener in WITH_SASL:
        connection = come_in_as(wire, examined, "bob", listener=listener)
    else:
        connection = come_in(wire, examined, listener)
    expected = examined.cluster.listeners[listener]
    for asked, address in ((connection, expected), (wire.bootstrap, examined.bootstrap)):
        brokers = [
            *asked.call("Metadata", version, topics=[]).brokers,
            *asked.call("DescribeCluster", 0).brokers,
        ]
        expect([f"{row.host}:{row.port}" for row in brokers], [address] * 2, "brokers")
    found = eventually(
        lambda: connection.call("FindCoordinator", 1, key="group", key_type=0),
        lambda answer: answer.error_code == ErrorCode.NONE,  # the first question makes a topic
        "there is a coordinator",
    )
    expect(f"{found.host}:{found.port}", expected, "coordinator")
