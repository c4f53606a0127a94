"""Send transaction markers to the leaders of partitions on other nodes.

Source: TransactionMarkerChannelManager.scala, TransactionMarkerRequestCompletionHandler.scala
(KIP-98). Markers that a leader refuses, or does not confirm, are sent again later: a marker that is
written twice has no second effect.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from itertools import groupby
from typing import Any, cast

from reference_impl.core.effects import Effect
from reference_impl.core.partitions.purgatory import PartitionKey
from reference_impl.core.refused import Refused
from reference_impl.core.transactions.transaction import Marker
from reference_impl.core.waiting.waits import Answer
from reference_impl.links.effects import Lane
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

REQUEST = request_definition(ApiKey.WRITE_TXN_MARKERS)
FENCED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
"""The errors of a marker request that mean that the partition needs no marker any more."""


def let_leader_write(
    node: int, keys: Collection[PartitionKey], marker: Marker, timeout_ms: int
) -> Generator[Effect, Any, tuple[set[PartitionKey], Refused | None]]:
    """Let another node write a marker to these partitions, and wait for its answer. Return the
    partitions that no longer need it (written, or fenced by a newer epoch), and the first error of
    the others, or None if there are no others. If no answer comes, no partition is done."""
    try:
        codes = yield from ask_leader(node, keys, marker, timeout_ms)
    except Refused as unanswered:
        return set(), unanswered
    done = (ErrorCode.NONE, *FENCED)
    failed = {key: code for key, code in codes.items() if code not in done}
    failure = next(
        (
            Refused(code, f"node {node} has not written the marker to {topic}-{index}")
            for (topic, index), code in failed.items()
        ),
        None,
    )
    return codes.keys() - failed.keys(), failure


def ask_leader(
    node: int, keys: Collection[PartitionKey], marker: Marker, timeout_ms: int
) -> Generator[Effect, Any, dict[PartitionKey, ErrorCode]]:
    """Ask a node to write a marker to these partitions. Return the error code of each
    (UNKNOWN_SERVER_ERROR if the answer leaves it out). Raise Unanswered if no answer comes."""
    row = REQUEST.struct(
        "WritableTxnMarker",
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        transaction_result=marker.committed,
        coordinator_epoch=marker.coordinator_epoch,
        transaction_version=marker.transaction_version,
        topics=[
            REQUEST.struct(
                "WritableTxnMarkerTopic", name=name, partition_indexes=[index for _, index in rows]
            )
            for name, rows in groupby(sorted(keys), key=lambda key: key[0])
        ],
    )
    body = REQUEST.new(markers=[row])
    asked = Answer(node, ApiKey.WRITE_TXN_MARKERS, body, timeout_ms, Lane.COORDINATOR)
    answer = cast("Struct", (yield asked))
    codes = {
        (topic.name, each.partition_index): ErrorCode(each.error_code)
        for result in answer.markers
        for topic in result.topics
        for each in topic.partitions
    }
    return {key: codes.get(key, ErrorCode.UNKNOWN_SERVER_ERROR) for key in keys}
