"""TLS beside SASL. SEC-02.

Sources: KIP-103 (separation of traffic), KIP-651 (keys in PEM).
"""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.security.secured_wire import come_in, come_in_as, expect_served
from conformance.clients.sasl import NEWEST, log_in
from conformance.target.examination import Examined
from conformance.target.secured import SECURED
from conformance.wire import Wire
from reference_impl.wire import ErrorCode


@case(
    "SEC-02", "SaslAuthenticate", versions=(NEWEST, NEWEST), spec="KIP-103; KIP-651", config=SECURED
)
def test_tls_carries_requests_and_sasl(wire: Wire, examined: Examined, version: int) -> None:
    """An SSL listener serves requests without authentication; a SASL_SSL listener serves them after
    it, and a wrong password gets SASL_AUTHENTICATION_FAILED (58)."""
    expect_served(come_in(wire, examined, "TLS"))
    expect_served(come_in_as(wire, examined, "bob", listener="SASL_TLS"))
    refused = log_in(come_in(wire, examined, "SASL_TLS"), "PLAIN", "bob", "wrong", version)
    expect(refused.error_code, ErrorCode.SASL_AUTHENTICATION_FAILED, "wrong password")
