"""Give the topics and groups of a run unique names on a cluster that others use as well.

A workload uses the same names of topics and groups in every run. On somebody else's cluster, the
run's prefix is added to each name in a request and removed from each name in a result. So the
history has the workload's names; run.json has those on the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from chaos.run.phases import Administrator
from chaos.values.protocols import (
    Client,
    ClientFactory,
    ClientSettings,
    Completion,
    Operation,
    TopicSpec,
)

NAMES = ("group", "transactional_id")
"""The fields of operations that contain one name, besides `topic`."""
PLACES = ("topics", "partitions", "places", "beside")
"""The fields of operations that contain topics, or tuples that begin with a topic."""
TOLD = ("topic", *NAMES)
"""The columns of the history that contain one name."""


class OwnNames:
    """The translation between a workload's names and the names on the cluster."""

    def __init__(self, nonce: bytes) -> None:
        self.prefix = f"touchstone-{nonce.hex()}-"
        self.topic_config: dict[str, str] = {}
        """The settings that a topic gets unless it sets them itself."""

    def outside(self, name: str) -> str:
        """Return the name on the cluster for a name of the workload."""
        return self.prefix + name

    def inside(self, name: str) -> str:
        """Return the workload's name for a name on the cluster."""
        return name.removeprefix(self.prefix)

    def spec(self, topic: TopicSpec) -> TopicSpec:
        config = {**self.topic_config, **topic.config}
        return replace(topic, name=self.outside(topic.name), config=config)

    def specs(self, topics: Sequence[TopicSpec]) -> list[TopicSpec]:
        return [self.spec(topic) for topic in topics]

    def clients(self, make: ClientFactory) -> ClientFactory:
        """Return a factory of the same clients, which accept and return the workload's names."""

        def of_process(bootstrap: str, process: int, settings: ClientSettings) -> RenamedClient:
            return RenamedClient(make(bootstrap, process, self._settings(settings)), self)

        return of_process

    def _settings(self, settings: ClientSettings) -> ClientSettings:
        group, own_id = settings.group, settings.transactional_id
        return replace(
            settings,
            group=None if group is None else replace(group, name=self.outside(group.name)),
            transactional_id=None if own_id is None else self.outside(own_id),
        )

    def operation(self, operation: Operation) -> Operation:
        """Return the operation with names as on the cluster."""
        changed: dict[str, Any] = {}
        for name in (field.name for field in fields(operation)):
            value = getattr(operation, name)
            if isinstance(value, TopicSpec):
                changed[name] = self.spec(value)
            elif name == "topic" or name in NAMES:
                changed[name] = self.outside(value)
            elif name in PLACES:
                changed[name] = tuple(map(self._place, value))
        return replace(operation, **changed) if changed else operation

    def _place(self, place: Any) -> Any:
        """Return a topic, or a tuple that begins with a topic, with its name on the cluster. Return
        a partition index unchanged."""
        if isinstance(place, tuple):
            return (self.outside(place[0]), *place[1:])
        return self.outside(place) if isinstance(place, str) else place

    def completion(self, completion: Completion) -> Completion:
        """Return the completion with the workload's names."""
        records = [replace(each, topic=self.inside(each.topic)) for each in completion.records]
        told = [self._row(row) for row in completion.more_rows]
        return replace(
            completion, records=records, more_rows=told, columns=self._row(completion.columns)
        )

    def _row(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        named = {key: self.inside(row[key]) for key in TOLD if isinstance(row.get(key), str)}
        return {**row, **named}


class RenamedClient:
    """A client that accepts and returns the workload's names, and passes those on the cluster to
    the client that it wraps."""

    def __init__(self, client: Client, names: OwnNames) -> None:
        self.name = client.name
        self._client = client
        self._names = names

    async def perform(self, operation: Operation) -> Completion:
        performed = await self._client.perform(self._names.operation(operation))
        return self._names.completion(performed)

    async def close(self) -> None:
        await self._client.close()


class RenamedAdmin:
    """The runner's administrator, which accepts and returns the workload's names."""

    def __init__(self, admin: Administrator, names: OwnNames) -> None:
        self._admin = admin
        self._names = names
        self.brokers: Callable[[], Coroutine[Any, Any, int]] = admin.brokers
        self.serves_transactions: Callable[[], Coroutine[Any, Any, bool]] = (
            admin.serves_transactions
        )
        self.close: Callable[[], None] = admin.close

    async def create_topics(
        self, topics: Sequence[TopicSpec], replication_factor: int, timeout_s: float
    ) -> dict[str, str]:
        own = self._names.specs(topics)
        ids = await self._admin.create_topics(own, replication_factor, timeout_s)
        return {self._names.inside(name): topic_id for name, topic_id in ids.items()}

    async def why_not_well(
        self, topics: Sequence[TopicSpec], brokers: int, readable_only: bool = False
    ) -> str | None:
        return await self._admin.why_not_well(self._names.specs(topics), brokers, readable_only)

    async def answer_to_produce(self, topic: str, nonce: bytes) -> str:
        return await self._admin.answer_to_produce(self._names.outside(topic), nonce)
