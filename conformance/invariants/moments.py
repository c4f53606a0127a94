"""Invariants of the offsets of a fetch that a broker may read at different moments.

Apache Kafka reads the high watermark first, then the log start, the last stable offset and the
records (class Partition, readRecords). Others may write, commit or delete in between, so that each
of the latter may lie beyond the high watermark of its own answer; but never beyond that of an
answer to a request that was sent later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from conformance.case import expect_that
from conformance.invariants.shared import NONE
from conformance.invariants.topics import READ_COMMITTED, fetched, headers_of
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

CONSUMER = -1
READABLE = (NONE, ErrorCode.OFFSET_OUT_OF_RANGE)
"""The errors beside which the end of a log can be told."""
AskAgain = Callable[[Struct], Struct | None]
"""Sends a later request, and returns its answer, or None if there is none."""


@dataclass(frozen=True)
class Seen:
    """An offset of a fetch. is_stable: whether it lies below the last stable offset, not only below
    the high watermark."""

    what: str
    offset: int
    is_stable: bool = False

    def is_below_end(self, found: Struct) -> bool:
        """Return whether the end that this answer tells lies at or above the offset."""
        return self.offset <= self._end(found)

    def require(self, found: Struct) -> None:
        """Fail unless this later answer tells an end at or above the offset."""
        end = self._end(found)
        of = "last stable offset" if self.is_stable else "high watermark"
        expect_that(self.offset <= end, self.what, f"at most {end}, a later {of}", self.offset)

    def _end(self, found: Struct) -> int:
        stable = int(found.last_stable_offset)
        return stable if self.is_stable and stable >= 0 else int(found.high_watermark)


def offsets_seen(version: int, asked: Struct, found: Struct) -> Iterator[Seen]:
    """Yield the offsets of a partition's row that must lie at or below the end of its log: the end
    of the records (for a consumer), the last stable offset, the log start, and the beginnings of
    aborted transactions."""
    replica = asked.replica_id if version < 15 else asked.replica_state.replica_id
    headers = headers_of(found)
    if headers and replica == CONSUMER:
        is_stable = asked.isolation_level == READ_COMMITTED
        yield Seen("end of the records", headers[-1].last_offset + 1, is_stable)
    yield Seen("last stable offset", found.last_stable_offset)
    yield Seen("log start offset", found.log_start_offset, is_stable=True)
    # Apache Kafka 4.3.1 also tells of those between the last stable offset, which an older
    # transaction holds back, and the high watermark.
    for aborted in found.aborted_transactions or ():
        yield Seen("end of an aborted transaction's first record", aborted.first_offset + 1)


def check(version: int, asked: Struct, answer: Struct, ask_again: AskAgain) -> None:
    """Require that no offset of the answer lies beyond the end of its log, which is asked for again
    if the answer itself tells a lower end."""
    for wanted, found in fetched(version, asked, answer):
        if found.error_code != NONE:
            continue
        beyond = [
            seen for seen in offsets_seen(version, asked, found) if not seen.is_below_end(found)
        ]
        if not beyond:
            continue
        at = wanted.fetch_offset if wanted is not None else max(found.log_start_offset, 0)
        later = ask_again(_request(asked, answer, found, at))
        for _, told in fetched(version, asked, later) if later is not None else ():
            if told.error_code in READABLE and told.high_watermark >= 0:
                for seen in beyond:
                    seen.require(told)


def _request(asked: Struct, answer: Struct, found: Struct, offset: int) -> Struct:
    """Return a request outside a session for one partition of an answer."""
    define = request_definition(ApiKey.FETCH)
    topic = next(topic for topic in answer.responses if found in topic.partitions)
    row = define.struct(
        "FetchPartition",
        partition=found.partition_index,
        fetch_offset=offset,
        partition_max_bytes=1,
        current_leader_epoch=-1,
        last_fetched_epoch=-1,
    )
    named = define.struct(
        "FetchTopic", topic=topic.topic, topic_id=topic.topic_id, partitions=[row]
    )
    return define.new(
        replica_id=CONSUMER, isolation_level=asked.isolation_level, session_epoch=-1, topics=[named]
    )
