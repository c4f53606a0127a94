"""A broker that dies and returns at the same address, and a connection that survives it."""

from __future__ import annotations

import struct
import threading
import time
from pathlib import Path

from reference_impl.host.tcp.ports import free_ports
from reference_impl.robustness.conversation import Conversation
from reference_impl.robustness.process import PATIENCE_S, BrokerProcess, RawClient
from reference_impl.wire import ApiKey, Struct, decode_response, encode_request

HOST = "127.0.0.1"
CONFIG = {
    # Everything that happens rarely happens often: segments roll, are cleaned, and deleted.
    "group.initial.rebalance.delay.ms": 0,
    "log.cleaner.backoff.ms": 200,
    "log.flush.offset.checkpoint.interval.ms": 500,
    "log.initial.task.delay.ms": 100,
    "log.retention.check.interval.ms": 500,
    "log.segment.delete.delay.ms": 100,
    "offsets.topic.num.partitions": 2,
    "transaction.state.log.num.partitions": 2,
}


class Broken(Exception):
    """Raised if the broker broke a promise; the message is one sentence."""


class Gone(Exception):
    """Raised if the broker died before it answered, so that the outcome of the request is
    unknown."""


class Station:
    """Starts and kills the broker; clients wait here while it is down."""

    def __init__(self, data: Path, bug: str | None = None) -> None:
        self.host, self.port = HOST, free_ports(1)[0]
        self._data = data
        self._options = [
            word for key, value in CONFIG.items() for word in ("--config", f"{key}={value}")
        ]
        self._options += ["--bug", bug] if bug else []
        self._process: BrokerProcess | None = None
        self._up = threading.Event()
        self.slowest_start_s = 0.0

    def start(self) -> None:
        """Start the broker, and wake the waiting clients when it is ready."""
        started = time.monotonic()
        self.spawn().wait_until_ready()
        self.slowest_start_s = max(self.slowest_start_s, time.monotonic() - started)
        self._up.set()

    def spawn(self) -> BrokerProcess:
        """Start the broker without waiting until it is ready."""
        self._process = BrokerProcess(self._data, *self._options, port=self.port, wait=False)
        return self._process

    def kill(self) -> None:
        """Send SIGKILL to the broker, if it runs, and wait for its end. Clients wait from now
        on."""
        self._up.clear()
        if self._process is not None:
            self._process.kill()
            self._process.__exit__(None, None, None)

    def stop(self) -> None:
        """Shut the broker down cleanly. Raise Broken if its exit status is not 0."""
        assert self._process is not None
        self._up.clear()
        if status := self._process.stop():
            raise Broken(f"the broker ends with status {status} after SIGTERM")
        self._process.__exit__(None, None, None)

    def wait_until_up(self) -> None:
        """Wait until the broker is ready. Raise Broken if that takes far too long."""
        if not self._up.wait(PATIENCE_S):
            raise Broken(f"the broker does not come back within {PATIENCE_S} s")


class Link(Conversation):
    """A client's connection, which can be opened again when the broker is back."""

    def __init__(self, station: Station) -> None:
        self._station = station
        self._client: RawClient | None = None
        self._correlation_id = 0

    @property
    def now_ms(self) -> int:  # type: ignore[override]
        return time.time_ns() // 1_000_000

    def reconnect(self) -> None:
        """Close the connection, wait until the broker is ready, and connect to it. Raise Broken if
        that takes far too long."""
        self.close()
        while self._client is None:
            self._station.wait_until_up()
            try:
                self._client = RawClient(self._station)
            except OSError:
                continue  # the broker died again meanwhile

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.socket.close()
            self._client = None

    def send(self, api: ApiKey, version: int, body: Struct) -> None:
        """Send a request without waiting for the response. Raise Gone if the broker has died."""
        if self._client is None:
            raise Gone
        self._correlation_id += 1
        try:
            self._client.socket.sendall(
                encode_request(api, version, self._correlation_id, "kills", body)
            )
        except OSError:
            raise Gone from None

    def receive(self, api: ApiKey, version: int) -> Struct:
        """Return the next response. Raise Gone if the broker dies before it is complete."""
        assert self._client is not None
        try:
            frame = self._client.receive()
        except (OSError, struct.error):
            frame = None
        if frame is None:
            raise Gone
        return decode_response(frame, api, version)[1]

    def ask(self, api: ApiKey, version: int, body: Struct) -> Struct:
        self.send(api, version, body)
        return self.receive(api, version)
