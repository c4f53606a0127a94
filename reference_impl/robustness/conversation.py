"""Common requests of tests, whatever carries them to the broker.

`World` passes them to a node in the same process; the tests with kills send them over TCP.
"""

from __future__ import annotations

from typing import Any

from reference_impl.wire import ApiKey, Record, RecordBatch, Struct, batches, request_definition


class Conversation:
    """A client's conversation with a broker: builds requests, sends them, and returns the
    answers."""

    now_ms: int
    """The current time of the client's clock, in milliseconds."""

    def ask(self, api: ApiKey, version: int, body: Struct) -> Struct:
        """Send one request and return its response."""
        raise NotImplementedError

    def call(self, api: ApiKey, version: int, **fields: Any) -> Struct:
        """Build a request from its fields, send it, and return its response."""
        return self.ask(api, version, request_definition(api).new(**fields))

    def create_topic(self, name: str, partitions: int = 1, /, **configs: str) -> Any:
        """Create a topic and return its id. In configs, write `_` instead of `.`. Raise
        AssertionError if the broker refuses."""
        of = request_definition(ApiKey.CREATE_TOPICS)
        rows = [
            of.struct("CreatableTopicConfig", name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ]
        topic = of.struct(
            "CreatableTopic",
            name=name,
            num_partitions=partitions,
            replication_factor=-1,
            configs=rows,
        )
        answer = self.call(ApiKey.CREATE_TOPICS, 7, topics=[topic])
        assert answer.topics[0].error_code == 0, answer
        return answer.topics[0].topic_id

    def produce(
        self,
        topic: str,
        *values: str,
        partition: int = 0,
        version: int = 9,
        acks: int = -1,
        raw: bytes | None = None,
        transactional_id: str | None = None,
        **batch: Any,
    ) -> Struct:
        """Send one batch: of these values, with further keywords as fields of its RecordBatch, or
        the bytes `raw` instead. Return the partition's row of the response, which may have an
        error."""
        records = raw if raw is not None else self.batch(*values, **batch)
        body = self.produce_body(topic, records, partition, acks, transactional_id)
        answer = self.ask(ApiKey.PRODUCE, version, body)
        row: Struct = answer.responses[0].partition_responses[0]
        return row

    def produce_body(
        self,
        topic: str,
        records: bytes,
        partition: int = 0,
        acks: int = -1,
        transactional_id: str | None = None,
    ) -> Struct:
        """Return the body of a Produce request for one partition (in version 12 and below, by the
        topic's name)."""
        of = request_definition(ApiKey.PRODUCE)
        row = of.struct(
            "PartitionProduceData", index=partition, records=memoryview(bytearray(records))
        )
        topic_row = of.struct("TopicProduceData", name=topic, partition_data=[row])
        return of.new(
            acks=acks, timeout_ms=1000, transactional_id=transactional_id, topic_data=[topic_row]
        )

    def batch(self, *values: str, **fields: Any) -> bytes:
        """Encode a batch of values with the current time, unless the fields have a
        base_timestamp."""
        fields.setdefault("base_timestamp", self.now_ms)
        return RecordBatch([Record(value.encode()) for value in values], **fields).encode()

    def fetch_body(self, topic: str, offset: int = 0, partition: int = 0, **fields: Any) -> Struct:
        """Return the body of a Fetch request for one partition (in version 12 and below, by the
        topic's name)."""
        of = request_definition(ApiKey.FETCH)
        fields = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, **fields}
        wanted = of.struct(
            "FetchPartition",
            partition=partition,
            fetch_offset=offset,
            partition_max_bytes=fields.pop("partition_max_bytes", 1 << 20),
            current_leader_epoch=fields.pop("current_leader_epoch", -1),
        )
        topic_row = of.struct("FetchTopic", topic=topic, partitions=[wanted])
        return of.new(topics=[topic_row], **fields)

    def fetch(self, topic: str, offset: int = 0, partition: int = 0, **fields: Any) -> Struct:
        """Fetch one partition once and return its row, which may have an error."""
        answer = self.ask(ApiKey.FETCH, 12, self.fetch_body(topic, offset, partition, **fields))
        row: Struct = answer.responses[0].partitions[0]
        return row

    def read_all(self, topic: str, partition: int = 0) -> list[str]:
        """Read a partition from offset 0 until a fetch returns no records. Return the values of its
        data records, leaving out null values."""
        found: list[str] = []
        offset = 0
        while True:
            records = self.fetch(topic, offset, partition).records
            if not records:
                return found
            for value in values_in(records):
                found.append(value)
            offset = end_of(records)


def values_in(records: bytes) -> list[str]:
    """Return the values of all data records in these batches, leaving out null values."""
    found, position = [], 0
    while position < len(records):
        batch, position = RecordBatch.decode(records, position)
        if not batch.is_control:
            found += [record.value.decode() for record in batch.records if record.value is not None]
    return found


def end_of(records: bytes) -> int:
    """Return the offset after the last of these batches, compacted or not; 0 if there are none."""
    end = 0
    for header, _, _ in batches(records):
        end = header.last_offset + 1
    return end
