"""One machine and a broker which the test plays: requests are read, answers are written by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from reference_impl.client.calls import Call
from reference_impl.client.effects import Complete, Fail, PartitionsChanged, WakeAt
from reference_impl.client.errors import ClientError
from reference_impl.client.events import Answered, Called, ConnectionLost, Event, Woken
from reference_impl.client.machine import Machine
from reference_impl.links.effects import Ask, Effect, HangUp
from reference_impl.wire import ApiKey, RecordBatch, response_definition, valid_versions

START_MS = 1_700_000_000_000
BOOTSTRAP = {"bootstrap.servers": "one:9092"}


class Script:
    """Time passes when the test says so; ApiVersions and Metadata are answered by themselves."""

    def __init__(
        self, make: Callable[[dict[str, Any], Random], Machine], config: dict[str, Any]
    ) -> None:
        self.machine = make({**BOOTSTRAP, **config}, Random(1))
        self.now_ms = 0
        self.asks: list[Ask] = []
        """The requests that are not answered yet, in order."""
        self.results: dict[int, Any] = {}
        self.changes: list[PartitionsChanged] = []
        self.closed = 0
        self.topics = {"t": 2}
        self.errors: dict[str, int] = {}
        """Topic -> the error with which Metadata answers for it."""
        self.leader_epoch = 0
        self.features: dict[str, int] = {}
        self._calls = 0

    # --- the application ----------------------------------------------------------------------

    def call(self, call: Call) -> int:
        self._calls += 1
        self._step(Called(*self._clocks(), self._calls, call))
        return self._calls

    def ok(self, call: Call) -> Any:
        """Make a call that succeeds at once, and return its result."""
        number = self.call(call)
        result = self.results[number]
        if isinstance(result, ClientError):
            raise result
        return result

    # --- the broker ---------------------------------------------------------------------------

    def waits_for(self, api_key: ApiKey) -> list[Ask]:
        """Return the unanswered requests of one API."""
        return [ask for ask in self.asks if ask.api_key == api_key]

    def take(self, api_key: ApiKey) -> Ask:
        """Remove and return the first request of an API, to be answered or dropped."""
        ask = self.waits_for(api_key)[0]
        self.asks.remove(ask)
        return ask

    def answer(self, ask: Ask, **fields: Any) -> None:
        self._step(
            Answered(
                *self._clocks(), ask.request_id, response_definition(ask.api_key).new(**fields)
            )
        )

    def reply(self, api_key: ApiKey, **fields: Any) -> Ask:
        """Take the first request of an API and answer it."""
        ask = self.take(api_key)
        self.answer(ask, **fields)
        return ask

    def lose(self, ask: Ask) -> None:
        """Break the connection of a request, and with it everything that was asked on it."""
        self.asks = [each for each in self.asks if each.destination != ask.destination]
        self._step(ConnectionLost(*self._clocks(), ask.destination, "lost by the test"))

    def wait(self, ms: int) -> None:
        """Let time pass, by the millisecond where a timer fires."""
        end_ms = self.now_ms + ms
        while self._wake_at_ms is not None and self._wake_at_ms <= end_ms:
            self.now_ms, self._wake_at_ms = max(self.now_ms, self._wake_at_ms), None
            self._step(Woken(*self._clocks()))
        self.now_ms = end_ms

    def wait_for(self, api_key: ApiKey, limit_ms: int = 10_000) -> Ask:
        """Let time pass until a request of this API comes, and take it."""
        end_ms = self.now_ms + limit_ms
        while not self.waits_for(api_key):
            assert self.now_ms < end_ms, f"no {api_key.name} within {limit_ms} ms"
            self.wait(1)
        return self.take(api_key)

    # --- produce ------------------------------------------------------------------------------

    def produced(self, ask: Ask) -> dict[int, RecordBatch]:
        """Return the batch of each partition in a Produce request."""
        return {
            row.index: RecordBatch.decode(row.records)[0]
            for topic in ask.body.topic_data
            for row in topic.partition_data
        }

    def answer_produce(self, ask: Ask, base_offset: int = 0, error: int = 0) -> None:
        """Give the same answer for every partition of a Produce request."""
        of = response_definition(ApiKey.PRODUCE)
        rows = [
            of.struct(
                "PartitionProduceResponse", index=index, base_offset=base_offset, error_code=error
            )
            for index in self.produced(ask)
        ]
        topics = [of.struct("TopicProduceResponse", name="t", partition_responses=rows)]
        self.answer(ask, responses=topics)

    def reply_produce(self, base_offset: int = 0, error: int = 0) -> Ask:
        """Take the first Produce request and answer it."""
        ask = self.take(ApiKey.PRODUCE)
        self.answer_produce(ask, base_offset, error)
        return ask

    # --- inside -------------------------------------------------------------------------------

    _wake_at_ms: int | None = None

    def _clocks(self) -> tuple[int, int]:
        return START_MS + self.now_ms, self.now_ms

    def _step(self, event: Event) -> None:
        self._perform(self.machine.step(event))
        self.wait(0)

    def _perform(self, effects: Sequence[Effect]) -> None:
        later: list[Ask] = []
        for effect in effects:
            match effect:
                case Ask(api_key=ApiKey.API_VERSIONS | ApiKey.METADATA):
                    later.append(effect)
                case Ask():
                    self.asks.append(effect)
                case HangUp(destination=destination):
                    self.closed += 1
                    self.asks = [ask for ask in self.asks if ask.destination != destination]
                case Complete(call_id=call_id, value=value):
                    self.results[call_id] = value
                case Fail(call_id=call_id, error=error):
                    self.results[call_id] = error
                case PartitionsChanged():
                    self.changes.append(effect)
                case WakeAt(monotonic_ms=at_ms):
                    self._wake_at_ms = at_ms
        for ask in later:
            if ask.api_key == ApiKey.API_VERSIONS:
                self.answer(ask, **self._api_versions())
            else:
                self.answer(ask, **self._metadata(ask))

    def _api_versions(self) -> dict[str, Any]:
        of = response_definition(ApiKey.API_VERSIONS)
        served = []
        for key in ApiKey:
            versions = valid_versions(key, stable=True)
            if len(versions):
                # Topics by name: a test need not know their ids.
                newest = min(versions[-1], 12) if key in (0, 1) else versions[-1]
                row = {"api_key": key, "min_version": versions[0], "max_version": newest}
                served.append(of.struct("ApiVersion", **row))
        features = [
            of.struct("FinalizedFeatureKey", name=name, max_version_level=level)
            for name, level in self.features.items()
        ]
        return {"api_keys": served, "finalized_features": features}

    def _metadata(self, ask: Ask) -> dict[str, Any]:
        of = response_definition(ApiKey.METADATA)
        topics = []
        for wanted in ask.body.topics:
            count = self.topics.get(wanted.name, 0)
            partitions = [
                of.struct(
                    "MetadataResponsePartition",
                    partition_index=index,
                    leader_id=1,
                    leader_epoch=self.leader_epoch,
                )
                for index in range(count)
            ]
            error = self.errors.get(wanted.name, 0 if count else 3)
            row = {"name": wanted.name, "error_code": error, "partitions": partitions}
            topics.append(of.struct("MetadataResponseTopic", **row))
        broker = of.struct("MetadataResponseBroker", node_id=1, host="one", port=9092)
        return {"brokers": [broker], "topics": topics}
