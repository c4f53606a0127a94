"""FindCoordinator: who coordinates a group (KIP-699 for several keys at once)."""

from __future__ import annotations

from conformance.case import case, expect, expect_that
from conformance.members import GROUP, coordinator, found_coordinator
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode, Struct

SPEC = "FindCoordinatorRequest.json; KIP-699"


def brokers(wire: Wire) -> dict[int, tuple[str, int]]:
    """Node id -> address, of all brokers."""
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
        expect(known.get(found.node_id), (found.host, found.port),
               f"address of node {found.node_id} in Metadata")  # fmt: skip
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
    for found in answer.coordinators:
        expect((found.host, found.port), coordinator(wire, found.key), f"address of {found.key}")


@case("GRPC-02", "FindCoordinator", spec="class KafkaApis, getCoordinator")
def test_the_first_use_makes_the_offsets_topic(wire: Wire, version: int) -> None:
    """Until the topic __consumer_offsets exists the answer is COORDINATOR_NOT_AVAILABLE (15) with
    node -1; then NONE, and Metadata knows the topic as internal."""
    group, seen = wire.new_name("group"), []

    def ask() -> Struct:
        seen.append(found_coordinator(wire.bootstrap, version, group))
        return seen[-1]

    eventually(ask, lambda answer: answer.error_code == 0, "a coordinator is found")
    for answer in seen[:-1]:
        expect((answer.error_code, answer.node_id), (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1),
               "(error, node) before")  # fmt: skip
    topic = wire.topic_metadata("__consumer_offsets")
    expect((topic.error_code, topic.is_internal), (0, True), "(error, is_internal) of the topic")
    expect_that(len(topic.partitions) > 0, "partitions of the topic", "> 0", len(topic.partitions))


@case("GRPC-03", "FindCoordinator", versions=(1, 6), spec="FindCoordinatorRequest.CoordinatorType",
      priority="P1")  # fmt: skip
def test_an_unknown_key_type_is_refused(wire: Wire, version: int) -> None:
    """A key type that does not exist gets INVALID_REQUEST (42), on a connection that lives on."""
    answer = found_coordinator(wire.bootstrap, version, "any", key_type=99)
    expect(answer.error_code, ErrorCode.INVALID_REQUEST, "error")
    expect(answer.node_id, -1, "node id")
