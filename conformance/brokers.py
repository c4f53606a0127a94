"""Connect a case to the brokers of the target, in the versions that they serve."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from conformance.case import Deviation, Unsupported
from conformance.connection import ANSWER_TIMEOUT_S, Connection, ConnectionClosed, api_key
from conformance.patience import HURRIED_TIMEOUT_S, PATIENCE
from reference_impl.access import access_of
from reference_impl.wire import Malformed, Struct, request_definition

AT_END_S = 5.0
"""The seconds after which no further action of `at_end` begins: a target that does not answer must
not delay the next case by more than one time-out."""


class Brokers:
    """The connections of a case to the target's brokers, and the versions that they serve."""

    def __init__(self, bootstrap: str, advertised: Mapping[str, tuple[int, int]]) -> None:
        self.addresses = [_address(text) for text in bootstrap.split(",")]
        self.access = access_of(bootstrap)
        self.advertised = advertised
        self.is_shared = False
        """Whether the cluster was not started here, so that others may use it at the same time."""
        self._open: list[Connection] = []
        self._at_end: list[Callable[[], object]] = []
        self._by_address: dict[tuple[str, int], Connection] = {}

    # --- connections ------------------------------------------------------------------------------

    @property
    def bootstrap(self) -> Connection:
        """The connection to the first bootstrap address; it is opened again if it was closed."""
        return self._cached(self.addresses[0])

    def connect(
        self, timeout_s: float = ANSWER_TIMEOUT_S, address: tuple[str, int] | None = None
    ) -> Connection:
        """Open an additional connection, by default to the first bootstrap address; `close` closes
        it. timeout_s: how long to wait for each answer."""
        connection = Connection(*(address or self.addresses[0]), timeout_s, access=self.access)
        self._open.append(connection)
        return connection

    def _cached(self, address: tuple[str, int]) -> Connection:
        if address not in self._by_address:
            self._by_address[address] = Connection(*address, access=self.access)
        return self._by_address[address]

    def brokers(self) -> dict[int, tuple[str, int]]:
        """Return broker id -> address of every broker, from the bootstrap broker's Metadata."""
        answer = self.call("Metadata", topics=[])
        return {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}

    def broker(self, node_id: int) -> Connection:
        """Return the connection to one broker by its id, for requests that concern only the broker
        that gets them. Raise KeyError if several brokers are known and none has this id; in a
        cluster of one, return the bootstrap connection."""
        found = self.brokers()
        return self._cached(found[node_id]) if len(found) > 1 else self.bootstrap

    def everywhere(self) -> list[Connection]:
        """Return a connection to each broker. Brokers apply the controller's decisions one after
        the other, so a case that goes on to another broker must wait for all of them."""
        found = self.brokers()
        return [self._cached(at) for at in found.values()] if len(found) > 1 else [self.bootstrap]

    def home(self) -> tuple[str, int]:
        """Return the address of the broker with the lowest id, which leads all partitions created
        with on_one_broker; in a cluster of one, the bootstrap address."""
        found = self.brokers()
        return found[min(found)] if len(found) > 1 else self.addresses[0]

    def forget_connections(self) -> None:
        """Close the connections that are kept for each broker, so that the next use opens new ones,
        after a restart of the target. Those of `connect` stay open."""
        for connection in self._by_address.values():
            connection.close()
        self._by_address.clear()

    def at_end(self, action: Callable[[], object]) -> None:
        """Run this action when the case is over, for example to leave a group, unless earlier
        actions have taken more than AT_END_S. An error of the action does not change the case's
        result."""
        self._at_end.append(action)

    def close(self) -> None:
        """Run the actions of `at_end`, as long as AT_END_S are not over (HURRIED_TIMEOUT_S if the
        examination must end now), and close every connection."""
        deadline = time.monotonic() + (HURRIED_TIMEOUT_S if PATIENCE.is_hurried else AT_END_S)
        for action in self._at_end:
            if time.monotonic() > deadline:
                break
            with suppress(OSError, ConnectionClosed, Malformed, Deviation, Unsupported):
                action()
        self.forget_connections()
        for connection in self._open:
            connection.close()

    # --- versions ---------------------------------------------------------------------------------

    def version(self, api: str, low: int = 0, high: int = 1 << 15) -> int:
        """Return the newest version of an API in [low, high] that the target advertises and this
        suite knows. Raise Unsupported if there is none."""
        if api not in self.advertised:
            raise Unsupported(f"{api} is not advertised")
        known = request_definition(api_key(api)).valid_versions
        first, last = self.advertised[api]
        newest = min(last, high, known[-1])
        if newest < max(first, low, known[0]):
            raise Unsupported(f"{api} v{low}-{high} is not advertised (only v{first}-{last})")
        return newest

    def call(self, api: str, version: int | None = None, **fields: Any) -> Struct:
        """Send one request to the bootstrap broker, by default in the newest version; return the
        response. Raise Unsupported if the API is not advertised."""
        return self.bootstrap.call(api, self.version(api) if version is None else version, **fields)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.strip().rpartition(":")
    return host.strip("[]"), int(port)
