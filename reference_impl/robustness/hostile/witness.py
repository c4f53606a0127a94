"""A well-behaved client in its own process: it writes records, reads them, and measures both
latencies.

python -m reference_impl.robustness.hostile.witness HOST PORT TOPIC [PID]

With the broker's process id it also reports how much CPU time the broker used during each wait: on
a busy machine, that time tells better than the clock for how long other clients were served first.

The client has a process of its own because the attackers would delay a thread of theirs. It runs
until its standard input closes, then reads everything once more. Each line on its standard output
is a JSON object.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from reference_impl.robustness.process import PATIENCE_S, Address, RawClient
from reference_impl.robustness.usage import cpu_s
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

TOPIC = "canary"
PACE_S = 0.02
READ_EVERY = 25
TOLD_EVERY_S = 0.2
CONFIGS = {"retention.ms": "-1", "max.message.bytes": "1000000", "cleanup.policy": "delete"}
"""The settings of the topic, so that no default that an attack may change affects it."""


@dataclass
class Place:
    """The address of a broker."""

    host: str
    port: int


class Witness:
    """The process of the well-behaved client, and what it has reported so far. Creating it starts
    the process, and raises AssertionError if that cannot write its first record."""

    def __init__(self, broker: Address, topic: str = TOPIC, pid: int | None = None) -> None:
        self.waits_s: list[float] = []
        self.longest_cpu_s = 0.0
        self.verified = 0
        self.failure: str | None = None
        self.topic_id = UUID(int=0)
        self._begun = threading.Event()
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", __name__, broker.host, str(broker.port), topic),
                *([] if pid is None else [str(pid)]),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, name="witness", daemon=True)
        self._reader.start()
        if not self._begun.wait(PATIENCE_S) or self.failure is not None:
            self.stop()
            raise AssertionError(f"the witness did not begin: {self.failure}")

    @property
    def longest_s(self) -> float:
        """The longest wait for a response, in seconds."""
        return max(self.waits_s, default=0.0)

    def percentile_s(self, share: float) -> float:
        """Return the wait in seconds that this share of all waits does not exceed; there must be
        one."""
        waits = sorted(self.waits_s)
        return waits[min(len(waits) - 1, int(len(waits) * share))]

    def stop(self) -> None:
        """Let the process read everything once more and end. Kill it, and note a failure, if it
        does not end in time."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(2 * PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.failure = self.failure or "it did not come to its end"
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self.stop()

    def _read(self) -> None:
        assert self._process.stdout is not None
        ended = False
        for line in self._process.stdout:
            told: dict[str, Any] = json.loads(line)
            self.waits_s += told.get("waits_s", ())
            self.longest_cpu_s = max(self.longest_cpu_s, told.get("cpu_s", 0.0))
            self.verified = told.get("verified", self.verified)
            self.failure = told.get("failure", self.failure)
            ended = told.get("ended", False)
            if "topic_id" in told:
                self.topic_id = UUID(told["topic_id"])
            self._begun.set()
        if not ended and self.failure is None:
            self.failure = "its process ended early"
        self._begun.set()


@dataclass
class Worker:
    """The code of the witness process: an idempotent producer and a reader on one connection."""

    client: RawClient
    topic: str
    pid: int | None = None
    written: int = 0
    longest_cpu_s: float = 0.0
    verified: int = 0
    waits_s: list[float] = field(default_factory=list)

    def begin(self) -> None:
        """Create the topic, get a producer id, write the first record, and print the topic's id.
        Raise AssertionError if the broker refuses one of these."""
        of = request_definition(ApiKey.CREATE_TOPICS)
        configs = [
            of.struct("CreatableTopicConfig", name=name, value=value)
            for name, value in CONFIGS.items()
        ]
        topic = of.struct(
            "CreatableTopic",
            name=self.topic,
            num_partitions=1,
            replication_factor=1,
            configs=configs,
        )
        answer = self.client.call(ApiKey.CREATE_TOPICS, 7, topics=[topic], timeout_ms=60_000)
        created = answer.topics[0]
        assert created.error_code == 0, f"CreateTopics was refused with {created.error_code}"
        body = {"transactional_id": None, "transaction_timeout_ms": 60_000}
        self.producer_id = self.client.call(ApiKey.INIT_PRODUCER_ID, 4, **body).producer_id
        self._write_first()
        tell(topic_id=str(created.topic_id))

    def run(self) -> None:
        """Write records and read them back, now and then, until standard input is closed. Raise
        AssertionError for a wrong answer."""
        told_s = time.monotonic()
        while not select.select([sys.stdin], [], [], PACE_S)[0]:
            self._write()
            if self.written % READ_EVERY == 0:
                self._read()
            if time.monotonic() - told_s > TOLD_EVERY_S:
                told_s = time.monotonic()
                self.tell()
                self.waits_s = []
        self._read()
        self.tell(ended=True)

    def tell(self, **more: object) -> None:
        """Print the new waiting times and, of the whole life of this process, the number of records
        that were read back intact, and the most CPU time that the broker used during one wait."""
        tell(waits_s=self.waits_s, verified=self.verified, cpu_s=self.longest_cpu_s, **more)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        started_s, used_s = time.monotonic(), self._cpu_s()
        yield
        self.waits_s.append(time.monotonic() - started_s)
        self.longest_cpu_s = max(self.longest_cpu_s, self._cpu_s() - used_s)

    def _cpu_s(self) -> float:
        """Return the CPU time that the broker has used, in seconds; 0 if its process is unknown."""
        return 0.0 if self.pid is None else cpu_s(self.pid)

    def _write_first(self) -> None:
        """Write the first record; repeat it while Apache refuses it because the new topic's log is
        not open yet."""
        give_up_s = time.monotonic() + PATIENCE_S
        while (answer := self._produce()).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            assert time.monotonic() < give_up_s, "the new topic does not take records"
            time.sleep(PACE_S)
        self._check(answer)

    def _write(self) -> None:
        with self._waiting():
            answer = self._produce()
        self._check(answer)

    def _produce(self) -> Struct:
        return self.client.produce(
            self.topic,
            str(self.written),
            producer_id=self.producer_id,
            producer_epoch=0,
            base_sequence=self.written,
        )

    def _check(self, answer: Struct) -> None:
        assert answer.error_code == 0, f"Produce was refused with error {answer.error_code}"
        assert answer.base_offset == self.written, (
            f"record {self.written} was given the offset {answer.base_offset}"
        )
        self.written += 1

    def _read(self) -> None:
        with self._waiting():
            found = self.client.read_all(self.topic, self.verified)
        wanted = [str(number) for number in range(self.verified, self.written)]
        assert found == wanted, f"reads {found[:5]}… ({len(found)}) instead of {wanted[:5]}…"
        self.verified = self.written


def tell(**what: object) -> None:
    """Print a JSON line for the parent process."""
    print(json.dumps(what), flush=True)


def main(host: str, port: str, topic: str, pid: str | None = None) -> None:
    """Run the witness; a failure is printed as a line, too."""
    with RawClient(Place(host, int(port))) as client:
        worker = Worker(client, topic, None if pid is None else int(pid))
        try:
            worker.begin()
            worker.run()
        except (AssertionError, OSError, ValueError) as error:
            text = f"{type(error).__name__}: {error} (after {worker.written} records)"
            worker.tell(failure=text)


if __name__ == "__main__":
    main(*sys.argv[1:])
