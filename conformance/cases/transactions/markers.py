"""WriteTxnMarkers, as a coordinator sends it, or an administrator who ends a hanging
transaction."""

from __future__ import annotations

from conformance.case import expect
from conformance.wire import Topic, Wire, part, request


def write_marker(
    wire: Wire,
    topic: Topic,
    producer: tuple[int, int],
    version: int,
    *,
    commit: bool = False,
    coordinator_epoch: int = 0,
    partition: int = 0,
    transaction_version: int = 0,
) -> int:
    """Write one marker of a producer (its id and epoch) for one partition; return its error
    code."""
    entry = part(
        "WriteTxnMarkers", "WritableTxnMarkerTopic", name=topic.name, partition_indexes=[partition]
    )
    marker = part(
        "WriteTxnMarkers",
        "WritableTxnMarker",
        producer_id=producer[0],
        producer_epoch=producer[1],
        transaction_result=commit,
        coordinator_epoch=coordinator_epoch,
        transaction_version=transaction_version,
        topics=[entry],
    )
    answer = wire.leader(topic).call(
        "WriteTxnMarkers", version, request("WriteTxnMarkers", markers=[marker])
    )
    expect([m.producer_id for m in answer.markers], [producer[0]], "producer ids in the answer")
    return int(answer.markers[0].topics[0].partitions[0].error_code)
