"""A transactional producer with hand-made requests, over any `Conversation`."""

from __future__ import annotations

from typing import Any

from reference_impl.robustness.conversation import Conversation
from reference_impl.wire import (
    TRANSACTIONAL_BIT,
    ApiKey,
    ErrorCode,
    RecordBatch,
    Struct,
    request_definition,
)

CLASSIC = {"produce": 9, "end": 4, "offsets": 3}
"""API -> its version in clients that add partitions to a transaction first and keep their epoch."""

PER_TRANSACTION = {"produce": 12, "end": 5, "offsets": 5}
"""API -> its version in clients with a new epoch for each transaction (KIP-890)."""


class TransactionalClient:
    """One producer with a transactional id: it remembers its producer id, epoch and sequence
    numbers, but leaves the order of its requests, and retries, to the caller."""

    def __init__(
        self, world: Conversation, name: str = "tx", versions: dict[str, int] = CLASSIC
    ) -> None:
        self.world = world
        self.name = name
        self.versions = versions
        self.producer_id = self.epoch = -1
        self._sequences: dict[tuple[str, int], int] = {}

    def init(self, timeout_ms: int = 60_000, version: int = 5, **fields: Any) -> Struct:
        """Send InitProducerId, and adopt the id and epoch of the response unless it has an error.
        Return the response."""
        answer = self.world.call(
            ApiKey.INIT_PRODUCER_ID,
            version,
            transactional_id=self.name,
            transaction_timeout_ms=timeout_ms,
            **fields,
        )
        if answer.error_code == ErrorCode.NONE:
            self._take(answer)
        return answer

    def _take(self, answer: Struct) -> None:
        if (self.producer_id, self.epoch) != (answer.producer_id, answer.producer_epoch):
            self._sequences.clear()
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    def add(self, topic: str = "t", *indexes: int, version: int = 3) -> int:
        """Send AddPartitionsToTxn for these partitions, by default for 0; return the error code of
        the first."""
        of = request_definition(ApiKey.ADD_PARTITIONS_TO_TXN)
        answer = self.world.call(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            version,
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                of.struct("AddPartitionsToTxnTopic", name=topic, partitions=list(indexes or (0,)))
            ],
        )
        code: int = (
            answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        )
        return code

    def send(self, *values: str, topic: str = "t", partition: int = 0, **batch: Any) -> Struct:
        """Produce inside the transaction. Return the partition's row of the response. Without an
        error, advance the sequence number."""
        key = (topic, partition)
        sequence = self._sequences.get(key, 0)
        fields = {
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "base_sequence": sequence,
            "attributes": TRANSACTIONAL_BIT,
            **batch,
        }
        row = self.world.produce(
            topic,
            *values,
            partition=partition,
            version=self.versions["produce"],
            transactional_id=self.name,
            **fields,
        )
        if row.error_code == ErrorCode.NONE:
            self._sequences[key] = sequence + len(values)
        return row

    def end(self, *, commit: bool, version: int | None = None, **fields: Any) -> Struct:
        """Send EndTxn, and from version 5 on adopt the id and epoch of the response unless it has
        an error. Return the response."""
        version = self.versions["end"] if version is None else version
        fields = {"producer_id": self.producer_id, "producer_epoch": self.epoch, **fields}
        answer = self.world.call(
            ApiKey.END_TXN, version, transactional_id=self.name, committed=commit, **fields
        )
        if version >= 5 and answer.error_code == ErrorCode.NONE:
            self._take(answer)
        return answer

    def transaction(self, *values: str, commit: bool = True, partitions: int = 1) -> None:
        """Run a whole transaction that writes the values to each of the first `partitions`
        partitions. Raise AssertionError if a request is refused."""
        if self.versions is CLASSIC:
            assert self.add("t", *range(partitions)) == ErrorCode.NONE
        for index in range(partitions):
            assert self.send(*values, partition=index).error_code == ErrorCode.NONE
        assert self.end(commit=commit).error_code == ErrorCode.NONE

    def add_offsets(self, group: str = "g", version: int = 3) -> int:
        """Send AddOffsetsToTxn; return the error code."""
        answer = self.world.call(
            ApiKey.ADD_OFFSETS_TO_TXN,
            version,
            transactional_id=self.name,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=group,
        )
        code: int = answer.error_code
        return code

    def commit_offset(
        self, offset: int, group: str = "g", version: int | None = None, **fields: Any
    ) -> int:
        """Send TxnOffsetCommit for t-0, by default in the version of `versions`; return the
        partition's error code."""
        of = request_definition(ApiKey.TXN_OFFSET_COMMIT)
        row = of.struct(
            "TxnOffsetCommitRequestPartition",
            partition_index=0,
            committed_offset=offset,
            committed_metadata="",
        )
        answer = self.world.call(
            ApiKey.TXN_OFFSET_COMMIT,
            self.versions["offsets"] if version is None else version,
            transactional_id=self.name,
            group_id=group,
            **{"producer_id": self.producer_id, "producer_epoch": self.epoch, **fields},
            topics=[of.struct("TxnOffsetCommitRequestTopic", name="t", partitions=[row])],
        )
        code: int = answer.topics[0].partitions[0].error_code
        return code


def committed_offset(
    world: Conversation, group: str = "g", *, stable: bool = False
) -> tuple[int, int]:
    """Return (offset, error code) of an OffsetFetch for t-0; the offset is -1 if none is
    committed. stable: whether to refuse an offset that a transaction may change (KIP-447)."""
    of = request_definition(ApiKey.OFFSET_FETCH)
    answer = world.call(
        ApiKey.OFFSET_FETCH,
        7,
        group_id=group,
        topics=[of.struct("OffsetFetchRequestTopic", name="t", partition_indexes=[0])],
        require_stable=stable,
    )
    row = answer.topics[0].partitions[0]
    return row.committed_offset, row.error_code


def read_committed(world: Conversation, topic: str = "t", partition: int = 0) -> list[str]:
    """Return the values that a consumer with isolation.level=read_committed would deliver, null
    values as empty ones (KIP-98, Fetcher.java)."""
    found: list[str] = []
    offset = 0
    while True:
        row = world.fetch(topic, offset, partition, isolation_level=1)
        if not row.records:
            return found
        waiting = sorted((each.first_offset, each.producer_id) for each in row.aborted_transactions)
        aborted: set[int] = set()
        position = 0
        while position < len(row.records):
            batch, position = RecordBatch.decode(row.records, position)
            last = batch.base_offset + (batch.last_offset_delta or 0)
            while waiting and waiting[0][0] <= last:
                aborted.add(waiting.pop(0)[1])
            if batch.is_control:
                aborted.discard(batch.producer_id)
            elif not (batch.is_transactional and batch.producer_id in aborted):
                found += [(record.value or b"").decode() for record in batch.records]
            offset = last + 1
