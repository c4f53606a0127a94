"""The broker under attack in a child process, with its log, memory and descriptors."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from reference_impl.host.tcp.ports import free_ports
from reference_impl.robustness.process import PATIENCE_S, BrokerProcess, RawClient
from reference_impl.robustness.usage import resident_bytes
from reference_impl.wire import ApiKey, request_definition

HOST = "127.0.0.1"
MAX_FRAME_BYTES = 4 << 20
IDLE_S = 10.0
CONFIG = {
    "socket.request.max.bytes": MAX_FRAME_BYTES,
    # End everything that clients may leave behind, soon enough for an observer to wait for it.
    "connections.max.idle.ms": round(IDLE_S * 1000),
    "controller.quorum.election.timeout.ms": 100,
    "controller.quorum.election.backoff.max.ms": 50,
    "controller.quorum.fetch.timeout.ms": 200,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.min.heartbeat.interval.ms": 500,
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.session.timeout.ms": 1000,
    "group.initial.rebalance.delay.ms": 0,
    "group.max.session.timeout.ms": 6000,
    "group.max.size": 20,
    "group.min.session.timeout.ms": 100,
    "log.cleaner.backoff.ms": 1000,
    "log.initial.task.delay.ms": 1000,
    "log.retention.check.interval.ms": 5000,
    "log.segment.delete.delay.ms": 1000,
    "max.incremental.fetch.session.cache.slots": 50,
    "offsets.topic.num.partitions": 3,
    "producer.id.expiration.ms": 20_000,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
    "transaction.max.timeout.ms": 60_000,
    "transaction.state.log.num.partitions": 3,
}
A_RECORD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (DEBUG|INFO|WARNING) ")
NEVER = ("internal error", "Traceback", "the broker failed")
POLL_S = 0.01


class Violation(Exception):
    """Raised if the broker violates a requirement; the message is one sentence."""


@dataclass(frozen=True)
class Door:
    """A listener of the broker under attack, and the APIs that it advertises there (API key ->
    versions)."""

    name: str
    host: str
    port: int
    served: Mapping[int, range] = field(default_factory=dict, repr=False)


class Broker:
    """A reference broker with low values for Kafka's limits, which is observed. It is a controller
    as well, and alone, so that it elects itself again if a Vote deposes it. Creating it starts the
    process, and waits until it is ready."""

    def __init__(self, data: Path) -> None:
        controllers = Door("controllers", HOST, free_ports(1)[0])
        listeners = f"PLAINTEXT://{HOST}:0,CONTROLLER://{HOST}:{controllers.port}"
        config = CONFIG | {"listeners": listeners}
        options = [word for key, value in config.items() for word in ("--config", f"{key}={value}")]
        self.process = BrokerProcess(data, *options)
        self._log = (data.parent / "broker.err").open(encoding="utf-8", errors="replace")
        self._data = str(data.resolve())
        self._unfinished = ""
        clients = Door("clients", self.process.host, self.process.port)
        self.doors = self.clients, self.controllers = with_apis(clients), with_apis(controllers)

    def client(self) -> RawClient:
        """Open a new connection to the listener of clients."""
        return RawClient(self.clients)

    @property
    def apis(self) -> set[tuple[str, int]]:
        """The APIs of every listener: (name of the listener, API key)."""
        return {(door.name, key) for door in self.doors for key in door.served}

    @property
    def is_alive(self) -> bool:
        return self.process.process.poll() is None

    def new_log_lines(self) -> list[str]:
        """Return the lines logged since the last call. Raise Violation if one of them must never be
        logged."""
        text = self._unfinished + self._log.read()
        *lines, self._unfinished = text.split("\n")
        check_lines(lines)
        return lines

    def logged(self, until: Callable[[list[str]], bool]) -> bool:
        """Return True once the new log lines satisfy `until`, False if they do not within a
        generous time-out or the broker ends. Raise Violation for a line that must never be
        logged."""
        deadline = time.monotonic() + PATIENCE_S
        lines: list[str] = []
        while True:
            lines += self.new_log_lines()
            if until(lines):
                return True
            if time.monotonic() > deadline or not self.is_alive:
                return False
            time.sleep(POLL_S)

    def resident_bytes(self) -> int:
        """Return the resident memory of the broker's process, in bytes."""
        return resident_bytes(self.process.process.pid)

    def descriptors(self) -> int:
        """Return the number of open descriptors, such as sockets and deleted files. Files that
        exist in the data directory do not count: a log opens its files when it needs them."""
        directory = Path(f"/proc/{self.process.process.pid}/fd")
        return sum(not self._is_of_a_partition(link) for link in directory.iterdir())

    def _is_of_a_partition(self, link: Path) -> bool:
        try:
            target = os.readlink(link)
        except FileNotFoundError:
            return True  # closed since the directory was listed
        return target.startswith(self._data) and not target.endswith(" (deleted)")

    def close(self) -> None:
        """Kill the process, and close its log, but keep the log's file."""
        self.process.__exit__(None, None, None)
        self._log.close()


def check_lines(lines: Sequence[str]) -> None:
    """Raise Violation at the first line that is not a log entry, or is one of an error."""
    for number, line in enumerate(lines):
        if not A_RECORD.match(line) or any(words in line for words in NEVER):
            following = "\n    ".join(lines[number : number + 80])
            raise Violation(f"the broker's log has\n    {following}")


def with_apis(door: Door) -> Door:
    """Return a listener with the APIs that ApiVersions advertises there, in the versions that exist
    in Kafka 4. (Produce 0 to 2 are advertised but not supported: KAFKA-18659.)"""
    with RawClient(door) as client:
        answer = client.call(
            ApiKey.API_VERSIONS, 3, client_software_name="fuzz", client_software_version="1"
        )
    served = {}
    for row in answer.api_keys:
        known = request_definition(row.api_key).valid_versions
        served[row.api_key] = range(
            max(row.min_version, known[0]), min(row.max_version, known[-1]) + 1
        )
    return replace(door, served=served)
