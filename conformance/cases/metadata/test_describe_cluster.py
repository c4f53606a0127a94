"""DescribeCluster: the cluster and its brokers, as Metadata gives them."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.metadata.test_metadata import NOT_ASKED
from conformance.wire import Wire
from reference_impl.wire import ErrorCode


@case("META-22", "DescribeCluster", spec="KIP-700", priority="P1")
def test_describe_cluster_agrees_with_metadata(wire: Wire, version: int) -> None:
    """DescribeCluster gives the cluster id and the brokers that Metadata gives, and no authorized
    operations unless asked for."""
    metadata = wire.call("Metadata", topics=[])
    answer = wire.call("DescribeCluster", version, endpoint_type=1)
    expect(answer.error_code, ErrorCode.NONE, "error")
    expect(answer.cluster_id, metadata.cluster_id, "cluster id")
    expect(
        {b.broker_id: (b.host, b.port, b.rack) for b in answer.brokers},
        {b.node_id: (b.host, b.port, b.rack) for b in metadata.brokers},
        "brokers",
    )
    expect(answer.controller_id, frozenset(b.broker_id for b in answer.brokers), "controller id")
    expect(answer.cluster_authorized_operations, NOT_ASKED, "authorized operations")


@case("META-23", "DescribeCluster", versions=(1, 2), spec="KIP-919, DescribeCluster", priority="P1")
def test_describe_cluster_refuses_the_wrong_endpoint_type(wire: Wire, version: int) -> None:
    """A broker asked for controllers (2) returns MISMATCHED_ENDPOINT_TYPE (114), and for an unknown
    endpoint type UNSUPPORTED_ENDPOINT_TYPE (115)."""
    controllers = wire.call("DescribeCluster", version, endpoint_type=2)
    expect(controllers.error_code, ErrorCode.MISMATCHED_ENDPOINT_TYPE, "error for controllers")
    unknown = wire.call("DescribeCluster", version, endpoint_type=9)
    expect(unknown.error_code, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "error for type 9")
