"""A well-behaved client beside the attack: whatever happens, it writes, and reads what it wrote."""

from __future__ import annotations

import threading
import time
from uuid import UUID

from reference_impl.tests.fuzz.broker import Broker, Violation
from reference_impl.wire import ApiKey, request_definition

TOPIC = "canary"
PACE_S = 0.02
READ_EVERY = 25
CONFIGS = {"retention.ms": "-1", "max.message.bytes": "1000000", "cleanup.policy": "delete"}
"""Set on the topic, so that no default which the attack may change reaches it."""


class Canary:
    """An idempotent producer and a reader, on one connection, in a thread."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._client = broker.client()
        self._stop = threading.Event()
        self.topic_id = self._create_topic()
        self._producer_id = self._client.call(
            ApiKey.INIT_PRODUCER_ID, 4, transactional_id=None, transaction_timeout_ms=60_000
        ).producer_id
        self.written = 0
        self.verified = 0
        self.slowest_s = 0.0
        self.failure: str | None = None
        self._thread = threading.Thread(target=self._run, name="canary", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise Violation if anything was wrong so far."""
        if self.failure is not None:
            raise Violation(f"the canary: {self.failure}")

    def stop(self) -> None:
        """Read everything once more, then leave."""
        self._stop.set()
        self._thread.join()
        self._client.socket.close()

    def _create_topic(self) -> UUID:
        of = request_definition(ApiKey.CREATE_TOPICS)
        configs = [of.struct("CreatableTopicConfig", name=name, value=value)
                   for name, value in CONFIGS.items()]  # fmt: skip
        topic = of.struct(
            "CreatableTopic", name=TOPIC, num_partitions=1, replication_factor=1, configs=configs
        )
        answer = self._client.call(ApiKey.CREATE_TOPICS, 7, topics=[topic]).topics[0]
        if answer.error_code:
            raise Violation(f"the canary's topic was refused with error {answer.error_code}")
        topic_id: UUID = answer.topic_id
        return topic_id

    def _run(self) -> None:
        try:
            while not self._stop.wait(PACE_S):
                self._write()
                if self.written % READ_EVERY == 0:
                    self._read()
            self._read()
        except (AssertionError, OSError, ValueError) as error:
            self.failure = f"{type(error).__name__}: {error} (after {self.written} records)"

    def _write(self) -> None:
        started = time.monotonic()
        answer = self._client.produce(
            TOPIC, str(self.written), producer_id=self._producer_id, producer_epoch=0,
            base_sequence=self.written,
        )  # fmt: skip
        self.slowest_s = max(self.slowest_s, time.monotonic() - started)
        assert answer.error_code == 0, f"Produce was refused with error {answer.error_code}"
        assert answer.base_offset == self.written, (
            f"record {self.written} was given the offset {answer.base_offset}"
        )
        self.written += 1

    def _read(self) -> None:
        found = self._client.read_all(TOPIC, self.verified)
        wanted = [str(number) for number in range(self.verified, self.written)]
        assert found == wanted, f"reads {found[:5]}… ({len(found)}) instead of {wanted[:5]}…"
        self.verified = self.written
