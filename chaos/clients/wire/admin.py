"""Administer a cluster before and after the attack: create topics, check that it is healthy.

Sources: CreateTopicsRequest.json; design#replication (ISR).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from chaos.clients import payload
from chaos.clients.wire.wire_link import View, WireCluster, check, insist, kafka_name
from chaos.means.connection import WireError
from chaos.values.protocols import TopicSpec
from chaos.world import World
from reference_impl.wire import ApiKey, Record, RecordBatch, request_definition

TOPIC_ALREADY_EXISTS = 36
BROKER = 4  # ConfigResource.Type
KEY = b"touchstone"


class Admin:
    """Sends administrative requests to one cluster, each with a time-out."""

    def __init__(self, world: World, bootstrap: str) -> None:
        self._world = world
        self._cluster = WireCluster(world, bootstrap)

    async def brokers(self) -> int:
        """Return the number of registered brokers. Raise WireError if no broker answers."""
        return len((await self._cluster.view([])).brokers)

    async def topic_ids(self) -> dict[str, str]:
        """Return topic name -> id of all topics; an id is "" if the broker returns none. Raise
        WireError if no broker answers."""
        return await self._cluster.topic_ids()

    async def serves_transactions(self) -> bool:
        """Return whether the cluster lists the API that puts partitions into a transaction
        (KIP-98). Raise WireError if no broker answers."""
        return await self._cluster.serves(ApiKey.ADD_PARTITIONS_TO_TXN)

    async def broker_settings(self, names: Collection[str]) -> dict[str, str]:
        """Return the values of these settings on the broker with the lowest id; leave out settings
        that are null or unknown to it. Raise WireError if no broker answers, or with an error."""
        brokers = (await self._cluster.view([])).brokers
        if not names or not brokers:
            return {}
        struct = request_definition(ApiKey.DESCRIBE_CONFIGS).struct
        resource = struct(
            "DescribeConfigsResource",
            resource_type=BROKER,
            resource_name=str(min(brokers)),
            configuration_keys=sorted(names),
        )
        address = brokers[min(brokers)]
        answer = await self._cluster.ask(address, ApiKey.DESCRIBE_CONFIGS, resources=[resource])
        found = answer.results[0]
        check(found.error_code, "DescribeConfigs of the broker")
        return {each.name: each.value for each in found.configs if each.value is not None}

    async def create_topics(
        self, topics: Sequence[TopicSpec], replication_factor: int, timeout_s: float
    ) -> dict[str, str]:
        """Create topics, wait until every partition has a leader, and return the topic ids by name,
        without topics to which the brokers give no id. Raise WireError if a topic of one of these
        names exists already, or if it takes longer than timeout_s."""
        deadline = self._world.monotonic() + timeout_s
        names = [topic.name for topic in topics]
        if (await insist(self._world, lambda: self._cluster.view(names), deadline)).partitions:
            raise WireError(
                f"there is a topic {' or '.join(names)} already, which may have records of others;"
                " delete it"
            )
        await insist(self._world, lambda: self._create(topics, replication_factor), deadline)

        async def all_led() -> View:
            view = await self._cluster.view(names)
            for topic in topics:
                for partition in range(topic.made):
                    state = view.partitions.get((topic.name, partition))
                    if state is None or state.leader < 0:
                        raise WireError(f"{topic.name}-{partition} has no leader yet")
            return view

        return (await insist(self._world, all_led, deadline)).topic_ids

    async def _create(self, topics: Sequence[TopicSpec], replication_factor: int) -> None:
        struct = request_definition(ApiKey.CREATE_TOPICS).struct
        wanted = [
            struct(
                "CreatableTopic",
                name=topic.name,
                num_partitions=topic.made,
                replication_factor=replication_factor,
                configs=[
                    struct("CreatableTopicConfig", name=name, value=value)
                    for name, value in topic.config.items()
                ],
            )
            for topic in topics
        ]
        answer = await self._cluster.ask_any(ApiKey.CREATE_TOPICS, topics=wanted, timeout_ms=10_000)
        for topic in answer.topics:
            if topic.error_code not in (0, TOPIC_ALREADY_EXISTS):
                raise WireError(
                    f"topic {topic.name} could not be created: {kafka_name(topic.error_code)}"
                )

    async def why_not_well(
        self, topics: Sequence[TopicSpec], brokers: int, readable_only: bool = False
    ) -> str | None:
        """Return a sentence about why the cluster is not healthy, or None if all brokers live, all
        partitions have a leader and all replicas are in sync. readable_only: check only that there
        are leaders."""
        try:
            view = await self._cluster.view([topic.name for topic in topics])
        except WireError as error:
            return str(error)
        if len(view.brokers) < brokers and not readable_only:
            return f"{len(view.brokers)} of {brokers} brokers are registered"
        for topic in topics:
            for partition in range(topic.made):
                state = view.partitions.get((topic.name, partition))
                if state is None or state.leader < 0:
                    return f"{topic.name}-{partition} has no leader"
                if len(state.isr) < len(state.replicas) and not readable_only:
                    return f"{topic.name}-{partition} has {len(state.isr)} replicas in sync"
        return None

    async def answer_to_produce(self, topic: str, nonce: bytes) -> str:
        """Send one record to partition 0 without any client library. Return a sentence about the
        answer."""
        record = Record(payload.encode(0, nonce, key=KEY), KEY)  # a compacted topic requires a key
        batch = RecordBatch([record], base_timestamp=self._world.wall_ns() // 1_000_000).encode()
        told = f"A Produce of one record to {topic}-0 over the raw protocol"
        try:
            answer = await self._cluster.produce(topic, 0, batch)
        except WireError as error:
            return f"{told} got no answer: {error}"
        if not answer.error_code:
            return f"{told} was acknowledged at offset {answer.base_offset}"
        message = getattr(answer, "error_message", None)
        said = f" ({message})" if message else ""
        return f"{told} was answered {kafka_name(answer.error_code)}{said}"

    def close(self) -> None:
        self._cluster.close()
