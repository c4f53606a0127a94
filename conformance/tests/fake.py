"""A Kafka of a few lines, in this process: it answers what a test tells it to answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from chaos.values.faults import Fault, Heal, Kill
from chaos.values.protocols import Cluster, Performed
from conformance.wire import api_key
from reference_impl.wire import (
    FrameReader,
    Malformed,
    Struct,
    decode_request,
    encode_response,
    request_definition,
    response_definition,
)

Answer = Callable[[int, Struct], Struct | None]
"""(version, request) -> response; None: close the connection."""


def response(api: str, **fields: Any) -> Struct:
    """Return a response's body."""
    return response_definition(api_key(api)).new(**fields)


def piece(api: str, struct_name: str, **fields: Any) -> Struct:
    """Return a struct inside a response."""
    return response_definition(api_key(api)).struct(struct_name, **fields)


class FakeKafka:
    """One listening port; its answers may be changed while it runs."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers: dict[int, Answer] = {
            api_key(api): answer
            for api, answer in {
                "ApiVersions": self.api_versions,
                "FindCoordinator": self.find_coordinator,
                **answers,
            }.items()
        }
        self.address = ("127.0.0.1", 0)
        self._open: list[socket.socket] = []
        self.start()

    @property
    def bootstrap(self) -> str:
        return "{}:{}".format(*self.address)

    def start(self) -> None:
        """Listen, on the same port as before if there was one."""
        listening = socket.create_server(self.address)
        self.address = listening.getsockname()
        self._open = [listening]
        threading.Thread(target=self._accept, args=(listening,), daemon=True).start()

    def stop(self) -> None:
        for opened in self._open:
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
            opened.close()
        self._open = []

    @property
    def is_alive(self) -> bool:
        return bool(self._open)

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        reader = FrameReader()
        # Close after bytes that are no frame: a target that answers late also gets an HTTP request.
        with suppress(OSError, Malformed), connection:
            while data := connection.recv(65_536):
                for frame in reader.feed(data):
                    header, request = decode_request(frame)
                    key, version = header.api_key, header.api_version
                    answer = self.answers[key](version, request)
                    if answer is None:
                        return
                    connection.sendall(self.encoded(key, version, header.correlation_id, answer))

    def encoded(self, key: int, version: int, correlation_id: int, answer: Struct) -> bytes:
        """Return the answer with its size, as it is sent."""
        return encode_response(key, version, correlation_id, answer)

    def api_versions(self, _version: int, _request: Struct) -> Struct:
        """Return every API that this fake answers, in all its versions."""
        keys = []
        for key in sorted(self.answers):
            versions = request_definition(key).stable_versions
            keys.append(
                piece(
                    "ApiVersions",
                    "ApiVersion",
                    api_key=key,
                    min_version=versions[0],
                    max_version=versions[-1],
                )
            )
        return response("ApiVersions", api_keys=keys)

    def find_coordinator(self, _version: int, request: Struct) -> Struct:
        """Answer this broker, whatever is asked."""
        host, port = self.address
        coordinators = [
            piece("FindCoordinator", "Coordinator", key=key, node_id=1, host=host, port=port)
            for key in request.coordinator_keys
        ]
        return response(
            "FindCoordinator", node_id=1, host=host, port=port, coordinators=coordinators
        )


class FakeCluster:
    """A fake that was started, as the harness sees it."""

    target = "fake"
    version = "1"
    nodes = 1
    focus: tuple[str, int] | None = None

    def __init__(self, kafka: FakeKafka) -> None:
        self.kafka = kafka
        self.bootstrap = kafka.bootstrap
        self.listeners: Mapping[str, str] = {}
        self.rng = Random(0)
        self.restarts = 0

    def perform(self, fault: Fault) -> Performed:
        return Performed(fault, ())

    def alive(self) -> bool:
        return self.kafka.is_alive

    def restart(self) -> None:
        self.restarts += 1
        self.kafka.start()

    def collect(self, into: Path) -> None:
        into.mkdir(exist_ok=True)

    def stop(self) -> None:
        self.kafka.stop()


class FakeTarget:
    """`--target fake`: the answers of a test."""

    name = "fake"
    faults: frozenset[type[Fault]] = frozenset({Kill, Heal})

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = answers
        self.clusters: list[FakeCluster] = []
        self.configs: list[dict[str, str]] = []

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        self.clusters.append(FakeCluster(FakeKafka(self.answers)))
        self.configs.append(dict(config or {}))
        return self.clusters[-1]


def errors_of(codes: Iterable[int]) -> Answer:
    """Answer heartbeats with these error codes, one after another."""
    left = iter(codes)
    return lambda _version, _request: response("Heartbeat", error_code=next(left))
