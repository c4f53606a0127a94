"""The current leader of a partition, in the answer to a client that has asked another broker
(KIP-951).

Source: KafkaApis.scala (getCurrentLeader); ProduceResponse.json and FetchResponse.json, fields
CurrentLeader and NodeEndpoints. The client can then try again without asking for metadata.
"""

from __future__ import annotations

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.metadata_image import TopicImage
from reference_impl.core.events import Request
from reference_impl.core.requests.alive_brokers import alive_brokers
from reference_impl.wire import Struct


class LeaderHints:
    """The leaders that one answer names: each in its partitions' rows, and once with its
    address."""

    def __init__(self, broker: Broker, request: Request, endpoint: type[Struct]) -> None:
        """Begin without leaders. endpoint: the class of NodeEndpoint in this answer."""
        self._broker, self._request, self._endpoint = broker, request, endpoint
        self._endpoints: dict[int, Struct] = {}

    def tell(self, row: Struct, topic: TopicImage | None, index: int) -> None:
        """Write the leader of a partition, and its epoch, into the partition's row, and remember
        the leader's address for `endpoints` if it is alive. Do nothing for an unknown partition."""
        state = None if topic is None else topic.partitions.get(index)
        if state is None:
            return
        row.current_leader.leader_id = state.leader
        row.current_leader.leader_epoch = state.leader_epoch
        leader = alive_brokers(self._broker, self._request).get(state.leader)
        if leader is not None:
            self._endpoints[leader.node_id] = self._endpoint(
                node_id=leader.node_id,
                host=leader.endpoint.host,
                port=leader.endpoint.port,
                rack=leader.rack,
            )

    @property
    def endpoints(self) -> list[Struct]:
        """Return the addresses of the leaders that were named and are alive, each once."""
        return list(self._endpoints.values())
