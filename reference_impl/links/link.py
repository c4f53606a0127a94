"""Connections to brokers: the versions that the other side speaks, the requests in flight, and the
back-off before a reconnect.

Source: KIP-35 and KIP-511 (ApiVersions opens every connection), KIP-144 (reconnect back-off),
NetworkClient.java, ClusterConnectionStates.java. A request which cannot be sent yet waits in its
link; the caller gets `on_answer` or `on_failure`, one of them and only once, unless it withdraws
the request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from reference_impl.links.effects import Ask, Destination, HangUp
from reference_impl.links.kernel import Backoff, Kernel
from reference_impl.wire import (
    ApiKey,
    ErrorCode,
    Struct,
    request_definition,
    response_definition,
    valid_versions,
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A request will not be answered."""

    reason: str
    was_sent: bool
    """Whether the request may have been sent. If not, the broker has certainly not acted on it."""
    is_unsupported: bool = False
    """Whether the reason is that the broker supports no suitable version of the API."""


OnAnswer = Callable[[Struct], None]
OnFailure = Callable[[Failure], None]


@dataclass(slots=True, eq=False)
class Query:
    """One request, and the callbacks for its answer."""

    api_key: ApiKey
    body: Struct
    on_answer: OnAnswer
    on_failure: OnFailure
    timeout_ms: int
    version_max: int
    version_min: int = 0
    expects_answer: bool = True
    request_id: int = 0


@dataclass(slots=True)
class Versions:
    """The API versions that one broker supports, and the finalized features that it reports."""

    ranges: dict[int, range]
    features: dict[str, int]

    def best(self, api_key: int, version_min: int = 0, version_max: int = 1 << 15) -> int | None:
        """Return the newest version within these bounds that both sides support, or None."""
        ours = valid_versions(api_key, stable=True)
        theirs = self.ranges.get(api_key, range(0))
        newest = min(ours[-1], theirs.stop - 1, version_max)
        oldest = max(ours[0], theirs.start, version_min)
        return newest if newest >= oldest else None


@dataclass(frozen=True, slots=True)
class Settings:
    """The client id, time-out and back-offs of links."""

    client_id: str
    setup_timeout_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int


class Link:
    """One connection to a broker, and the requests that wait for it or for their answers. The first
    request opens it, and ApiVersions precedes all others."""

    def __init__(self, links: Links, destination: Destination) -> None:
        self._links = links
        self.destination = destination
        self.versions: Versions | None = None
        self.in_flight: dict[int, Query] = {}
        self._waiting: deque[Query] = deque()
        self._is_opening = False
        self._is_throttled = False
        settings = links.settings
        self._backoff = Backoff(
            links.kernel, settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms
        )
        self._not_before_ms = 0

    @property
    def load(self) -> int:
        """The number of requests that wait for an answer here."""
        return len(self.in_flight) + len(self._waiting)

    @property
    def is_backing_off(self) -> bool:
        """Return whether the connection has failed a short time ago, so that it is not tried again
        yet."""
        return self._links.kernel.monotonic_ms < self._not_before_ms

    def ask(self, query: Query) -> None:
        """Send the request now, or as soon as the connection is open, its versions are known and
        the broker's throttle is over. Open the connection if necessary, after its back-off. Fail
        the request if the broker supports no suitable version."""
        if self.versions is not None and not self._is_throttled:
            self._send(query, self.versions)
            return
        self._waiting.append(query)
        if self.versions is not None:
            return
        if not self._is_opening:
            self._is_opening = True
            delay_ms = self._not_before_ms - self._links.kernel.monotonic_ms
            if delay_ms > 0:
                self._links.kernel.after(delay_ms, ("reconnect", *self._key), self._open)
            else:
                self._open()

    def withdraw(self, query: Query) -> None:
        """Drop a request for which no caller waits any more, unless it has been sent, and call
        neither of its callbacks."""
        if query in self._waiting:
            self._waiting.remove(query)

    @property
    def _key(self) -> tuple[str | int, ...]:
        return self.destination.host, self.destination.port, self.destination.lane.value

    def _open(self) -> None:
        body = request_definition(ApiKey.API_VERSIONS).new(
            client_software_name="touchstone-reference", client_software_version="0.1.0"
        )
        newest = valid_versions(ApiKey.API_VERSIONS)[-1]
        self._ask_versions(body, newest)

    def _ask_versions(self, body: Struct, version: int) -> None:
        timeout_ms = self._links.settings.setup_timeout_ms

        def answered(answer: Struct) -> None:
            if answer.error_code == ErrorCode.UNSUPPORTED_VERSION and version > 0:
                served = [row for row in answer.api_keys if row.api_key == ApiKey.API_VERSIONS]
                self._ask_versions(body, min((row.max_version for row in served), default=0))
            elif answer.error_code:
                self._links.close(self, f"ApiVersions: error {answer.error_code}")
            else:
                self._opened(answer)

        self._transmit(
            Query(ApiKey.API_VERSIONS, body, answered, lambda _: None, timeout_ms, version), version
        )

    def _opened(self, answer: Struct) -> None:
        self.versions = Versions(
            {row.api_key: range(row.min_version, row.max_version + 1) for row in answer.api_keys},
            {row.name: row.max_version_level for row in answer.finalized_features},
        )
        self._links.features.update(self.versions.features)
        self._is_opening = False
        self._backoff.succeed()
        self._send_waiting()

    def _send_waiting(self) -> None:
        self._is_throttled = False
        waiting, self._waiting = self._waiting, deque()
        for query in waiting:
            self.ask(query)

    def _throttle(self, answer: Struct) -> None:
        """Send nothing for the throttle time of an answer, since a quota was exceeded (KIP-219)."""
        throttle_ms = getattr(answer, "throttle_time_ms", 0)
        if throttle_ms > 0:
            self._is_throttled = True
            self._links.kernel.after(throttle_ms, ("throttle", *self._key), self._send_waiting)

    def _send(self, query: Query, versions: Versions) -> None:
        version = versions.best(query.api_key, query.version_min, query.version_max)
        if version is None:
            query.on_failure(
                Failure(f"the broker has no usable version of {query.api_key.name}", False, True)
            )
            return
        self._transmit(query, version)

    def _transmit(self, query: Query, version: int) -> None:
        links = self._links
        query.request_id = next(links.ids)
        self.in_flight[query.request_id] = query
        links.by_request[query.request_id] = self
        links.kernel.after(
            query.timeout_ms, ("request", query.request_id), lambda: self._timed_out(query)
        )
        links.kernel.emit(
            Ask(
                query.request_id,
                self.destination,
                query.api_key,
                version,
                links.settings.client_id,
                query.body,
                query.expects_answer,
            )
        )

    def answered(self, request_id: int, body: Struct | None) -> None:
        """Pass an answer to the query's `on_answer`, or a response of default values if the request
        expects none (None)."""
        query = self.in_flight.pop(request_id)
        self._links.kernel.cancel(("request", request_id))
        if body is not None:
            self._throttle(body)
        query.on_answer(response_definition(query.api_key).new() if body is None else body)

    def _timed_out(self, query: Query) -> None:
        # Answers come in order, so whatever was asked later would wait as well: Java's client
        # closes the connection too (NetworkClient.handleTimedOutRequests).
        name = query.api_key.name
        self._links.close(self, f"{name} was not answered within {query.timeout_ms} ms")

    def broke(self, reason: str) -> None:
        """Fail all requests of a connection that is lost, sent or waiting. The next request
        reconnects, but not before the back-off is over."""
        kernel = self._links.kernel
        self.versions, self._is_opening, self._is_throttled = None, False, False
        kernel.cancel(("reconnect", *self._key))
        kernel.cancel(("throttle", *self._key))
        self._not_before_ms = kernel.monotonic_ms + self._backoff.fail()
        in_flight, self.in_flight = self.in_flight, {}
        waiting, self._waiting = self._waiting, deque()
        for request_id, query in in_flight.items():
            self._links.by_request.pop(request_id, None)
            kernel.cancel(("request", request_id))
            query.on_failure(Failure(reason, was_sent=True))
        for query in waiting:
            query.on_failure(Failure(reason, was_sent=False))


class Links:
    """All connections of one client, or of one node to others."""

    def __init__(self, kernel: Kernel, settings: Settings) -> None:
        self.kernel = kernel
        self.settings = settings
        self.ids = count(1)
        self.by_request: dict[int, Link] = {}
        self.features: dict[str, int] = {}
        """The finalized features of the cluster, from the newest answer (KIP-584)."""
        self._links: dict[Destination, Link] = {}

    def to(self, destination: Destination) -> Link:
        """Return the link to this destination, always the same one. Its connection is opened with
        the first request."""
        if destination not in self._links:
            self._links[destination] = Link(self, destination)
        return self._links[destination]

    def answered(self, request_id: int, body: Struct | None) -> None:
        """Deliver an answer, or drop one for which no caller waits any more."""
        link = self.by_request.pop(request_id, None)
        if link is not None:
            link.answered(request_id, body)

    def connection_lost(self, destination: Destination, reason: str) -> None:
        """Fail the requests on a connection that the host has lost."""
        link = self._links.get(destination)
        if link is not None:
            link.broke(f"{destination.host}:{destination.port}: {reason}")

    def close(self, link: Link, reason: str) -> None:
        """Close a connection from this side, and fail its requests."""
        self.kernel.emit(HangUp(link.destination))
        link.broke(f"{link.destination.host}:{link.destination.port}: {reason}")
