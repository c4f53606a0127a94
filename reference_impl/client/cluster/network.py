"""The brokers of a cluster, their connections, and the choice of a broker for a request.

Source: NetworkClient.java, KIP-899.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reference_impl.client.config import Config
from reference_impl.client.kernel import Kernel
from reference_impl.links.effects import Destination, Lane
from reference_impl.links.link import Link, Links, OnAnswer, OnFailure, Query, Settings
from reference_impl.wire import ApiKey, Struct

TRANSACTION_VERSION = "transaction.version"


@dataclass(frozen=True, slots=True)
class Node:
    """A broker as metadata names it; bootstrap servers have negative ids (Cluster.bootstrap)."""

    id: int
    host: str
    port: int


class Network(Links):
    """The brokers of a cluster and the links to them, for one client."""

    def __init__(self, kernel: Kernel, config: Config) -> None:
        super().__init__(
            kernel,
            Settings(
                config["client.id"],
                config["socket.connection.setup.timeout.ms"],
                config["reconnect.backoff.ms"],
                config["reconnect.backoff.max.ms"],
            ),
        )
        self._chance = kernel.chance
        self._request_timeout_ms = config["request.timeout.ms"]
        self._bootstrap = [
            Node(-1 - index, host, port)
            for index, (host, port) in enumerate(config["bootstrap.servers"])
        ]
        self._nodes: dict[int, Node] = {}

    @property
    def has_transactions_v2(self) -> bool:
        """Return whether the cluster adds partitions to a transaction by their first batch
        (KIP-890)."""
        return self.features.get(TRANSACTION_VERSION, 0) >= 2

    def learn(self, nodes: Sequence[Node]) -> None:
        """Replace the known brokers by those of a Metadata answer, unless it names none."""
        if nodes:
            self._nodes = {node.id: node for node in nodes}

    def node(self, node_id: int) -> Node | None:
        """Return the broker with this id, or None if it is not known."""
        return self._nodes.get(node_id)

    def link(self, node: Node, lane: Lane = Lane.DATA) -> Link:
        """Return the connection to a broker, opened with its first request."""
        return self.to(Destination(node.host, node.port, lane))

    def least_loaded(self) -> Node:
        """Return the broker for a request that any broker can answer
        (NetworkClient.leastLoadedNode): a connected one with few requests in flight, else any that
        has not failed lately. When all known brokers fail, the bootstrap servers are asked again
        (KIP-899)."""
        candidates = list(self._nodes.values()) or self._bootstrap
        links = [(self.link(node), node) for node in candidates]
        if all(link.is_backing_off for link, _ in links):
            links += [(self.link(node), node) for node in self._bootstrap]
        start = self._chance.randrange(len(links))
        turned = links[start:] + links[:start]
        return min(
            turned, key=lambda each: (each[0].is_backing_off, not each[0].versions, each[0].load)
        )[1]

    def ask(
        self,
        node: Node,
        api_key: ApiKey,
        body: Struct,
        on_answer: OnAnswer,
        on_failure: OnFailure,
        *,
        lane: Lane = Lane.DATA,
        timeout_ms: int | None = None,
        version_min: int = 0,
        version_max: int = 1 << 15,
        expects_answer: bool = True,
    ) -> None:
        """Send a request to a broker, in the newest version within the bounds that both sides
        support. Call `on_failure` if there is none, or if the connection breaks or the time is
        over. timeout_ms: None for request.timeout.ms. expects_answer: if False, `on_answer` gets a
        response of default values."""
        self.link(node, lane).ask(
            Query(
                api_key,
                body,
                on_answer,
                on_failure,
                self._request_timeout_ms if timeout_ms is None else timeout_ms,
                version_max,
                version_min,
                expects_answer,
            )
        )
