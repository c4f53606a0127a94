"""A node without a network: requests go in as objects, answers come out; time is a number.

What a host does with effects is done here in the simplest way that keeps their meaning, so that a
test reads as a conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from random import Random
from typing import Any

from reference_impl.core.broker_configs import BrokerConfig, Endpoint
from reference_impl.core.effects import (
    CancelTimer,
    CloseConnection,
    Effect,
    Release,
    Report,
    Respond,
    SetTimer,
)
from reference_impl.core.events import (
    ConnectionClosed,
    Event,
    Request,
    RequestArrived,
    Started,
    Stopping,
    TimerFired,
    TimerKey,
)
from reference_impl.core.node import Node
from reference_impl.core.rules import Rules
from reference_impl.core.storage import MemoryStorage
from reference_impl.wire import ApiKey, Record, RecordBatch, Struct, request_definition

START_MS = 1_700_000_000_000
SETTINGS = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "2"}
NOTHING = object()


class World:
    """One node over one disk in memory, and as many clients as a test names."""

    def __init__(
        self,
        config: Mapping[str, str] | None = None,
        rules: type[Rules] = Rules,
        node: type[Node] = Node,
        seed: int = 0,
    ) -> None:
        self.storage = MemoryStorage()
        self.config = BrokerConfig.of({**SETTINGS, **(config or {})})
        self.now_ms = START_MS
        self.closed: dict[int, str] = {}
        self.reports: list[str] = []
        self.trace: list[str] = []
        self._random = Random(seed)
        self._rules, self._node_class = rules, node
        self._correlation = count(1)
        self.boot()

    # --- life and death -----------------------------------------------------------------------

    def boot(self) -> None:
        """Start a process over the disk as it is."""
        self.timers: dict[TimerKey, int] = {}
        self.answers: dict[int, Any] = {}
        advertised = Endpoint("broker", 9092)
        rules = self._rules()  # what rules remember dies with the process
        self.node = self._node_class(self.config, self.storage, "data", advertised, rules)
        self._step(Started(self.now_ms, self._entropy()))

    def kill(self) -> None:
        """kill -9, then a new process: what the operating system had is there."""
        self.storage.kill()
        self.boot()

    def lose_power(self) -> None:
        """The machine goes down: only what was synced is there."""
        self.storage.crash()
        self.boot()

    def restart(self) -> None:
        """A clean shutdown, then a new process."""
        self._step(Stopping(self.now_ms, self._entropy()))
        self.storage.kill()
        self.boot()

    # --- conversation -------------------------------------------------------------------------

    def send(
        self, api: ApiKey, version: int, body: Struct, client: int = 1, client_id: str = "test"
    ) -> int:
        """Deliver a request; returns the correlation id under which its answer will lie."""
        number = next(self._correlation)
        request = Request(client, api, version, number, client_id, "/1.2.3.4", body)
        self._step(RequestArrived(self.now_ms, self._entropy(), request))
        return number

    def ask(self, api: ApiKey, version: int, body: Struct, client: int = 1) -> Struct:
        """Deliver a request that is answered at once."""
        number = self.send(api, version, body, client)
        assert number in self.answers, f"{api.name} v{version} was not answered at once"
        answer: Struct = self.answers.pop(number)
        return answer

    def call(self, api: ApiKey, version: int, client: int = 1, **fields: Any) -> Struct:
        """`ask`, with the fields of the request at hand."""
        return self.ask(api, version, request_definition(api).new(**fields), client)

    def answer_to(self, number: int) -> Struct | None:
        """The answer that has come meanwhile, if it has."""
        answer = self.answers.pop(number, None)
        assert answer is not NOTHING
        return answer  # type: ignore[no-any-return]

    def disconnect(self, client: int) -> None:
        """The client goes away without a word."""
        self._step(ConnectionClosed(self.now_ms, self._entropy(), client))

    def wait(self, ms: int) -> None:
        """Let time pass, and fire what falls due in its order."""
        end_ms = self.now_ms + ms
        while True:
            due = [(at, key) for key, at in self.timers.items() if at <= end_ms]
            if not due:
                break
            at_ms, key = min(due, key=lambda pair: pair[0])
            self.now_ms = max(self.now_ms, at_ms)
            del self.timers[key]
            self._step(TimerFired(self.now_ms, self._entropy(), key))
        self.now_ms = end_ms

    # --- what tests do all the time -----------------------------------------------------------

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> Any:
        """Make a topic; returns its id. Configs have `_` for `.`."""
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
        """Append one batch; returns the partition's row of the answer."""
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
        """A Produce of one partition (version 12 and below: by name)."""
        of = request_definition(ApiKey.PRODUCE)
        row = of.struct(
            "PartitionProduceData", index=partition, records=memoryview(bytearray(records))
        )
        topic_row = of.struct("TopicProduceData", name=topic, partition_data=[row])
        return of.new(
            acks=acks, timeout_ms=1000, transactional_id=transactional_id, topic_data=[topic_row]
        )

    def batch(self, *values: str, **fields: Any) -> bytes:
        """A batch of values, stamped now."""
        fields.setdefault("base_timestamp", self.now_ms)
        return RecordBatch([Record(value.encode()) for value in values], **fields).encode()

    def fetch_body(self, topic: str, offset: int = 0, partition: int = 0, **fields: Any) -> Struct:
        """A Fetch of one partition (version 12 and below: by name)."""
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
        """The row of one partition, read once."""
        answer = self.ask(ApiKey.FETCH, 12, self.fetch_body(topic, offset, partition, **fields))
        row: Struct = answer.responses[0].partitions[0]
        return row

    def read_all(self, topic: str, partition: int = 0) -> list[str]:
        """Every value of a partition."""
        found: list[str] = []
        offset = 0
        while True:
            records = self.fetch(topic, offset, partition).records
            if not records:
                return found
            for value in values_in(records):
                found.append(value)
            offset = end_of(records)

    # --- inside -------------------------------------------------------------------------------

    def _step(self, event: Event) -> None:
        for effect in self.node.step(event):
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        self.trace.append(repr(effect))
        match effect:
            case Respond(request=request, body=body):
                self.answers[request.correlation_id] = body
            case Release(request=request):
                self.answers[request.correlation_id] = NOTHING
            case CloseConnection(connection=connection, reason=reason):
                self.closed[connection] = reason
            case SetTimer(key=key, delay_ms=delay_ms):
                self.timers[key] = self.now_ms + delay_ms
            case CancelTimer(key=key):
                self.timers.pop(key, None)
            case Report(sentence=sentence):
                self.reports.append(sentence)

    def _entropy(self) -> bytes:
        return self._random.randbytes(16)


def values_in(records: bytes) -> list[str]:
    """The values of all batches."""
    found, position = [], 0
    while position < len(records):
        batch, position = RecordBatch.decode(records, position)
        if not batch.is_control:
            found += [record.value.decode() for record in batch.records if record.value is not None]
    return found


def end_of(records: bytes) -> int:
    """The offset after the last batch."""
    position = end = 0
    while position < len(records):
        batch, position = RecordBatch.decode(records, position)
        end = batch.base_offset + len(batch.records)
    return end
