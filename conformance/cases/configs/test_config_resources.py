"""ListConfigResources: what has a configuration (KIP-1142)."""

from __future__ import annotations

from conformance.case import case, expect, expect_that
from conformance.cases.configs.configs import BROKER, TOPIC
from conformance.wire import Wire
from reference_impl.wire import ErrorCode

SPEC = "KIP-1142; ListConfigResourcesRequest.json"
CLIENT_METRICS, NO_SUCH_TYPE = 16, 99


def listed(wire: Wire, version: int, types: list[int]) -> list[tuple[int, str]]:
    """Return (type, name) of each resource."""
    answer = wire.call("ListConfigResources", version, resource_types=types)
    expect(answer.error_code, ErrorCode.NONE, f"error of types {types}")
    return [(r.resource_type, r.resource_name) for r in answer.config_resources]


@case("CONF-19", "ListConfigResources", versions=(1, 1), spec=SPEC, priority="P2")
def test_resources_are_listed_by_type(wire: Wire, version: int) -> None:
    """Topics and brokers are listed if their type is requested, and both if no type is given; a
    type that does not exist gets UNSUPPORTED_VERSION (35)."""
    topic = (TOPIC, wire.create_topic().name)
    brokers = [(BROKER, str(b.node_id)) for b in wire.call("Metadata", topics=[]).brokers]
    expect(sorted(listed(wire, version, [BROKER])), sorted(brokers), "brokers")
    topics = listed(wire, version, [TOPIC])
    expect_that(topic in topics, "topics", f"with {topic}", topics)
    expect([r for r in topics if r[0] != TOPIC], [], "others in the list of topics")
    everything = listed(wire, version, [])
    expect_that(
        {topic, *brokers} <= set(everything), "everything", "with topic and brokers", everything
    )
    refused = wire.call("ListConfigResources", version, resource_types=[TOPIC, NO_SUCH_TYPE])
    expect(
        (refused.error_code, refused.config_resources),
        (ErrorCode.UNSUPPORTED_VERSION, []),
        "(error, resources) of an unknown type",
    )
