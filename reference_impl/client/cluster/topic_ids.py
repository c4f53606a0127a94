"""Find the names of topics whose id alone is known: assignments of KIP-848 hold no names.

Source: MetadataRequest.json (TopicId; a request asks by id or by name, never both); KIP-516.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from reference_impl.client.cluster.metadata import Metadata
from reference_impl.client.cluster.network import Network
from reference_impl.client.config import Config
from reference_impl.client.kernel import Kernel
from reference_impl.links.kernel import Backoff
from reference_impl.wire import ApiKey, Struct, request_definition

BY_ID_SINCE = 12
TIMER = ("topic ids",)


class TopicIds:
    """Topic names by id. They are kept, since a topic created again under the same name has another
    id."""

    def __init__(
        self, kernel: Kernel, network: Network, config: Config, metadata: Metadata
    ) -> None:
        self._kernel = kernel
        self._network = network
        self._metadata = metadata
        self._backoff = Backoff(kernel, config["retry.backoff.ms"], config["retry.backoff.max.ms"])
        self._names: dict[UUID, str] = {}
        self._is_asking = False

    def name(self, topic_id: UUID) -> str | None:
        """Return the name of the topic with this id, or None while it is unknown."""
        known = self._names.get(topic_id) or self._metadata.topic_name(topic_id)
        if known is not None:
            self._names[topic_id] = known
        return known

    def learn(self, topic_ids: Collection[UUID]) -> None:
        """Ask a broker for the names of these topics. Do nothing while an earlier request, for
        whichever topics, is in flight or ended a moment ago."""
        if self._is_asking:
            return
        self._is_asking = True
        of = request_definition(ApiKey.METADATA)
        rows = [of.struct("MetadataRequestTopic", topic_id=each, name=None) for each in topic_ids]

        def over(_: object = None) -> None:
            self._kernel.after(self._backoff.fail(), TIMER, self._may_ask_again)

        def answered(answer: Struct) -> None:
            self._names |= {row.topic_id: row.name for row in answer.topics if row.name}
            if len(self._names.keys() & set(topic_ids)) == len(set(topic_ids)):
                self._backoff.succeed()
            over()

        self._network.ask(
            self._network.least_loaded(),
            ApiKey.METADATA,
            of.new(topics=rows, allow_auto_topic_creation=False),
            answered,
            over,
            version_min=BY_ID_SINCE,
        )

    def _may_ask_again(self) -> None:
        self._is_asking = False
