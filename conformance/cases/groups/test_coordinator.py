"""FindCoordinator: who coordinates a group (KIP-699 for several keys at once)."""

from __future__ import annotations

from conformance.case import case, each, expect
from conformance.clients.members import GROUP, coordinator, found_coordinator
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode

SPEC = "FindCoordinatorRequest.json; KIP-699"


def brokers(wire: Wire) -> dict[int, tuple[str, int]]:
    """Return node id -> address of all brokers."""
    answer = wire.call("Metadata", topics=[])
    return {b.node_id: (b.host, b.port) for b in answer.brokers}


@case("GRPC-01", "FindCoordinator", spec=SPEC)
def test_every_broker_names_the_same_coordinator(wire: Wire, version: int) -> None:
    """FindCoordinator names one of the brokers in Metadata, with node id, host and port, and every
    broker names the same."""
    group = wire.new_name("group")
    coordinator(wire, group)
    known = brokers(wire)
    for address in known.values():
        found = found_coordinator(wire.connect(address=address), version, group)
        expect(found.error_code, ErrorCode.NONE, "error")
        expect(
            known.get(found.node_id),
            (found.host, found.port),
            f"address of node {found.node_id} in Metadata",
        )
        expect((found.host, found.port), coordinator(wire, group), "coordinator")


@case("GRPC-01", "FindCoordinator", versions=(4, 6), spec=SPEC)
def test_several_coordinators_are_found_at_once(wire: Wire, version: int) -> None:
    """From version 4 a request takes several keys, and the answer has an entry for each."""
    groups = [wire.new_name("group") for _ in range(3)]
    for group in groups:
        coordinator(wire, group)
    answer = wire.call("FindCoordinator", version, key_type=GROUP, coordinator_keys=groups)
    expect(sorted(c.key for c in answer.coordinators), sorted(groups), "keys in the answer")
    expect([c.error_code for c in answer.coordinators], [0, 0, 0], "errors")
    for found in each(answer.coordinators, "coordinators"):
        expect((found.host, found.port), coordinator(wire, found.key), f"address of {found.key}")


@case("GRPC-02", "FindCoordinator", spec="class KafkaApis, getCoordinator")
def test_a_group_gets_a_coordinator_in_the_end(wire: Wire, version: int) -> None:
    """A group gets a coordinator; until then the answer is COORDINATOR_NOT_AVAILABLE (15). A topic
    __consumer_offsets made for it is internal."""
    group, errors = wire.new_name("group"), []

    def ask() -> int:
        errors.append(found_coordinator(wire.bootstrap, version, group).error_code)
        return int(errors[-1])

    eventually(ask, lambda error: error == ErrorCode.NONE, "a coordinator is found")
    for error in errors[:-1]:
        expect(error, ErrorCode.COORDINATOR_NOT_AVAILABLE, "error before")
    # An implementation may keep its groups elsewhere than in a topic.
    topic = wire.topic_metadata("__consumer_offsets")
    if topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        expect((topic.error_code, topic.is_internal), (0, True), "(error, is_internal)")


@case(
    "GRPC-03",
    "FindCoordinator",
    versions=(1, 6),
    spec="FindCoordinatorRequest.CoordinatorType",
    priority="P1",
)
def test_an_unknown_key_type_is_refused(wire: Wire, version: int) -> None:
    """A key type that does not exist gets INVALID_REQUEST (42), and the connection stays open."""
    answer = found_coordinator(wire.bootstrap, version, "any", key_type=99)
    expect(answer.error_code, ErrorCode.INVALID_REQUEST, "error")
