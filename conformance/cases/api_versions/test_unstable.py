"""Versions that are not finished: InitProducerId v6, with two-phase commit (KIP-939)."""

from __future__ import annotations

from conformance.case import Unsupported, case, expect_that
from conformance.cases.framing.test_malformed import expect_closed
from conformance.cases.framing.test_requests import still_serves
from conformance.wire import Wire, request
from reference_impl.wire import request_definition

TWO_PHASES = 6
"""The version of InitProducerId that brings two-phase commit."""
LEVEL_OF_TWO_PHASES = 3
"""The level of transaction.version that has it."""


def requires_unfinished(wire: Wire) -> None:
    """Raise Unsupported if the target knows two-phase commit as a finished feature."""
    answer = wire.call("ApiVersions", client_software_name="t", client_software_version="1")
    levels = {row.name: row.max_version for row in answer.supported_features}
    if levels.get("transaction.version", 0) >= LEVEL_OF_TWO_PHASES:
        raise Unsupported("two-phase commit is a finished feature of this target")


@case(
    "APIV-12",
    "InitProducerId",
    spec="InitProducerIdRequest.json, latestVersionUnstable; unstable.api.versions.enable",
    priority="P2",
)
def test_an_unfinished_version_is_not_advertised(wire: Wire) -> None:
    """InitProducerId v6 is not advertised while two-phase commit is not a finished feature."""
    requires_unfinished(wire)
    last = wire.advertised["InitProducerId"][1]
    expect_that(last < TWO_PHASES, "last version of InitProducerId", f"< {TWO_PHASES}", last)


@case("TXN-57", "InitProducerId", spec="KIP-939, InitProducerId v6", priority="P2")
def test_two_phase_commit_that_is_not_advertised_closes_the_connection(wire: Wire) -> None:
    """InitProducerId v6, with enable2Pc and with keepPreparedTxn, is not answered by a broker that
    does not advertise it: the connection ends, and other connections are served."""
    if wire.advertised["InitProducerId"][1] >= TWO_PHASES:
        raise Unsupported("InitProducerId v6 is advertised")
    assert TWO_PHASES in request_definition(22).valid_versions
    for enables, keeps in ((True, False), (True, True)):
        connection = wire.connect()
        body = request(
            "InitProducerId",
            transactional_id=wire.new_name("transactional"),
            transaction_timeout_ms=10_000,
            enable2_pc=enables,
            keep_prepared_txn=keeps,
        )
        connection.send("InitProducerId", TWO_PHASES, body)
        expect_closed(connection, f"InitProducerId v{TWO_PHASES}")
    still_serves(wire)
