"""WriteTxnMarkers, as a coordinator sends it, or who ends a hanging transaction by hand."""

from __future__ import annotations

from conformance.case import expect
from conformance.producers import described_producers
from conformance.transactions import Producer
from conformance.wire import Topic, Wire, part, request
from reference_impl.wire import Struct


def write_marker(
    wire: Wire, topic: Topic, producer_id: int, epoch: int, version: int, *, commit: bool = False,
    coordinator_epoch: int = 0, partition: int = 0,
) -> int:  # fmt: skip
    """One marker for one partition: its error code."""
    entry = part("WriteTxnMarkers", "WritableTxnMarkerTopic", name=topic.name,
                 partition_indexes=[partition])  # fmt: skip
    marker = part(
        "WriteTxnMarkers", "WritableTxnMarker", producer_id=producer_id, producer_epoch=epoch,
        transaction_result=commit, coordinator_epoch=coordinator_epoch, topics=[entry],
    )  # fmt: skip
    answer = wire.leader(topic).call(
        "WriteTxnMarkers", version, request("WriteTxnMarkers", markers=[marker])
    )
    expect([m.producer_id for m in answer.markers], [producer_id], "producer ids in the answer")
    return int(answer.markers[0].topics[0].partitions[0].error_code)


def state_of(
    wire: Wire, topic: Topic, producer: Producer, version: int | None = None
) -> Struct:  # fmt: skip
    """What the partition knows of this producer."""
    found = [p for p in described_producers(wire, topic, version)
             if p.producer_id == producer.producer_id]  # fmt: skip
    expect(len(found), 1, "descriptions of the producer")
    return found[0]
