"""Several listeners at once: TLS, and each advertised as it was asked. META-03, SEC-02.

Sources: KIP-103 (separation of traffic), KIP-651 (keys in PEM).
"""

from __future__ import annotations

import pytest

from conformance.case import case, expect
from conformance.cases.security.secured_wire import come_in, come_in_as, expect_served
from conformance.examination import Examined
from conformance.sasl import NEWEST, log_in
from conformance.secured import SECURED
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode

WITH_SASL = ("SASL", "BRIEF", "SASL_TLS")


@case("SEC-02", "SaslAuthenticate", versions=(NEWEST, NEWEST), spec="KIP-103; KIP-651",
      config=SECURED)  # fmt: skip
def test_tls_carries_requests_and_sasl(wire: Wire, examined: Examined, version: int) -> None:
    """On a listener of SSL requests are answered at once; on one of SASL_SSL after SASL."""
    expect_served(come_in(wire, examined, "TLS"))
    expect_served(come_in_as(wire, examined, "bob", listener="SASL_TLS"))
    refused = log_in(come_in(wire, examined, "SASL_TLS"), "PLAIN", "bob", "wrong", version)
    expect(refused.error_code, ErrorCode.SASL_AUTHENTICATION_FAILED, "wrong password")


@pytest.mark.parametrize("listener", [*WITH_SASL, "TLS"])
@case("META-03", "Metadata", spec="KIP-103, Separation of Internal and External traffic",
      config=SECURED)  # fmt: skip
def test_a_broker_is_described_as_its_listener_is_advertised(
    wire: Wire, examined: Examined, version: int, listener: str
) -> None:
    """Metadata, DescribeCluster and FindCoordinator name the address of the listener on which they
    are asked, and the plain listener its own."""
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
