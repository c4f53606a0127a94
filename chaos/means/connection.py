"""One connection to one broker over our own codec, with answers that block: every question that the
harness asks by itself goes through it. (Conformance cases have a connection of their own, which
sends any bytes, answers to none, and several at once.)

Source: ApiVersionsRequest.json (v0, which every broker answers).
"""

from __future__ import annotations

import socket
import time
from itertools import count
from typing import Any

from chaos.means.links import Address, joined
from reference_impl.access import connect
from reference_impl.wire import (
    ApiKey,
    FrameReader,
    Malformed,
    Struct,
    decode_response,
    encode_request,
    request_definition,
)

CLIENT_ID = "touchstone-raw"
_READ_BYTES = 1 << 18
_VERSION_MAX = {
    ApiKey.PRODUCE: 11,  # v12 joins transactions by itself (KIP-890), v13 names topics by id only
    ApiKey.FETCH: 12,  # v13, too
    ApiKey.LIST_OFFSETS: 7,
    ApiKey.METADATA: 12,
    ApiKey.CREATE_TOPICS: 7,
    ApiKey.OFFSET_COMMIT: 9,  # v10 names topics by id
    ApiKey.OFFSET_FETCH: 7,  # the last that speaks of one group
    ApiKey.FIND_COORDINATOR: 3,
    # As clients before KIP-890 speak: the producer adds partitions, and an end leaves its epoch.
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.TXN_OFFSET_COMMIT: 4,
    ApiKey.END_TXN: 4,
}


class WireError(OSError):
    """No answer, or an answer which is an error or is not Kafka's. One sentence."""


class Connection:
    """One connection to one broker; one request at a time."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self.address = address
        self._timeout_s = timeout_s
        self._correlation_ids = count(1)
        self._reader = FrameReader()
        self._versions: dict[int, tuple[int, int]] = {}
        try:
            self._socket = connect(address, timeout_s)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except (OSError, Malformed) as error:
            raise WireError(f"{joined(address)} cannot be reached: {error}") from error

    def ask(self, api: ApiKey, **fields: Any) -> Struct:
        """Send a request in the newest version that both sides know; return the response's body."""
        if not self.serves(api):
            raise WireError(f"{joined(self.address)} does not serve {api.name}")
        definition = request_definition(api)
        served = range(self._versions[api][0], self._versions[api][1] + 1)
        wanted = min(_VERSION_MAX.get(api, 99), definition.valid_versions[-1], served[-1])
        if wanted not in served or wanted not in definition.valid_versions:
            raise WireError(f"{joined(self.address)} serves no version of {api.name} known here")
        return self.exchange(api, wanted, definition.new(**fields))

    def serves(self, api: ApiKey) -> bool:
        """Return whether ApiVersions lists the API."""
        if not self._versions:
            self._learn_versions()
        return api in self._versions

    def _learn_versions(self) -> None:
        answer = self.exchange(ApiKey.API_VERSIONS, 0, request_definition(18).new())
        for row in answer.api_keys:
            self._versions[row.api_key] = (row.min_version, row.max_version)

    def exchange(
        self, api: ApiKey, version: int, body: Struct, timeout_s: float | None = None
    ) -> Struct:
        """Ask in one version. timeout_s: for the whole answer, which bytes that trickle do not
        extend. Without it each read of the socket has the connection's own."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        correlation_id = next(self._correlation_ids)
        try:
            request = encode_request(api, version, correlation_id, CLIENT_ID, body)
            self._socket.settimeout(self._timeout_s if timeout_s is None else timeout_s)
            self._socket.sendall(request)
            answered, answer = decode_response(self._next_frame(deadline), api, version)
        except (OSError, Malformed) as error:
            self.close()
            raise WireError(f"{joined(self.address)}: {api.name}: {error}") from error
        if answered != correlation_id:
            self.close()
            raise WireError(f"{joined(self.address)}: {api.name}: the answer is to another request")
        return answer

    def _next_frame(self, deadline: float | None) -> bytearray:
        while True:
            if deadline is not None:
                self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            data = self._socket.recv(_READ_BYTES)
            if not data:
                raise WireError("the connection was closed")
            if frames := self._reader.feed(data):
                return frames[0]

    def close(self) -> None:
        self._socket.close()
