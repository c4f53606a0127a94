"""WriteTxnMarkers, as a coordinator sends it, or an administrator who ends a hanging
transaction."""

from __future__ import annotations

from conformance.case import expect
from conformance.wire import Topic, Wire, part, request


def write_marker(
    wire: Wire,
    topic: Topic,
    producer_id: int,
    epoch: int,
    version: int,
    *,
    commit: bool = False,
    coordinator_epoch: int = 0,
    partition: int = 0,
) -> int:
    """Write one marker for one partition; return its error code."""
    entry = part(
        "WriteTxnMarkers", "WritableTxnMarkerTopic", name=topic.name, partition_indexes=[partition]
    )
    marker = part(
        "WriteTxnMarkers",
        "WritableTxnMarker",
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=commit,
        coordinator_epoch=coordinator_epoch,
        topics=[entry],
    )
    answer = wire.leader(topic).call(
        "WriteTxnMarkers", version, request("WriteTxnMarkers", markers=[marker])
    )
    expect([m.producer_id for m in answer.markers], [producer_id], "producer ids in the answer")
    return int(answer.markers[0].topics[0].partitions[0].error_code)
