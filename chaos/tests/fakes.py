"""A cluster in memory, with clients that misbehave on request: the runner's counterpart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from chaos.run.runner import Tools
from chaos.values.faults import Fault, Heal, Kill
from chaos.values.protocols import (
    Assign,
    ClientFactory,
    ClientSettings,
    Completion,
    Operation,
    Outcome,
    Performed,
    Poll,
    ReadAll,
    Record,
    Send,
    TargetError,
    TopicSpec,
)
from chaos.world import World

Partition = tuple[str, int]
DOWN_S = 0.02


class FakeCluster:
    """Logs in memory. While killed, every second send is appended and none is answered."""

    target, version, nodes = "fake", "1", 1
    bootstrap = "nowhere:1"
    listeners: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.focus: Partition | None = None
        self.rng = Random(0)
        self.lock = threading.Lock()
        self.logs: dict[Partition, list[int]] = {}
        self.down = False
        self.stopped = 0
        self.faults_performed: list[Fault] = []
        self.refuses = False
        self.never_well = False
        self.log = "nothing happened"
        self._coin = 0

    def append(self, partition: Partition, value: int) -> int | None:
        """Append; return the offset, or None when nobody answers."""
        with self.lock:
            log = self.logs.setdefault(partition, [])
            self._coin += self.down
            if not self.down or self._coin % 2:
                log.append(value)
            return None if self.down else len(log) - 1

    def perform(self, fault: Fault) -> Performed:
        if self.refuses and not isinstance(fault, Heal):
            raise TargetError("the fake cannot just now")
        self.faults_performed.append(fault)
        self.down = isinstance(fault, Kill)
        return Performed(fault, (1,))

    def alive(self) -> bool:
        return not self.down

    def restart(self) -> None:
        self.down = False

    def collect(self, into: Path) -> None:
        (into / "1").mkdir(parents=True)
        (into / "1" / "node.log").write_text(self.log)

    def stop(self) -> None:
        self.stopped += 1


class FakeTarget:
    """Starts that cluster."""

    name = "fake"
    faults: frozenset[type[Fault]] = frozenset({Kill, Heal})

    def __init__(self) -> None:
        self.cluster = FakeCluster()

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> FakeCluster:
        directory.mkdir(parents=True)
        return self.cluster


class FakeClient:
    """Performs operations on the logs in memory."""

    name = "fake"
    breaks_after: int | None = None
    raises = False

    def __init__(self, cluster: FakeCluster, world: World) -> None:
        self._cluster = cluster
        self._world = world
        self._positions: dict[Partition, int] = {}
        self._performed = 0

    async def perform(self, operation: Operation) -> Completion:
        self._performed += 1
        if self.raises:
            raise RuntimeError("out of paper")
        if self.breaks_after is not None and self._performed > self.breaks_after:
            return Completion(Outcome.INFO, (), "_FATAL", broken=True)
        if isinstance(operation, Poll):
            return await self._poll(operation)
        actions: dict[type[Operation], Callable[[Any], Completion]] = {
            Send: self._send,
            Assign: self._assign,
            ReadAll: self._read_all,
        }
        return actions[type(operation)](operation)

    def _send(self, send: Send) -> Completion:
        records = []
        for value in send.values:
            offset = self._cluster.append((send.topic, send.partition), value)
            outcome = Outcome.INFO if offset is None else Outcome.OK
            records.append(Record(send.topic, send.partition, value, offset, outcome))
        if records[-1].outcome is Outcome.INFO:
            return Completion(Outcome.INFO, records, "_MSG_TIMED_OUT")
        return Completion(Outcome.OK, records)

    def _assign(self, assign: Assign) -> Completion:
        self._positions = dict.fromkeys(assign.partitions, 0)
        return Completion(Outcome.OK)

    async def _poll(self, poll: Poll) -> Completion:
        if self._cluster.down:
            await self._world.sleep(DOWN_S)
            return Completion(Outcome.FAIL, (), "_TRANSPORT")
        records: list[Record] = []
        for partition, position in self._positions.items():
            records += self._records(partition, position)
            self._positions[partition] += sum(1 for r in records if r.partition == partition[1])
        if not records:
            await self._world.sleep(DOWN_S)  # as a real poll waits for the first record
        return Completion(Outcome.OK, records)

    def _read_all(self, operation: ReadAll) -> Completion:
        records: list[Record] = []
        for partition in operation.partitions:
            found = list(self._records(partition, 0))
            extra = {"f": "read_all", "log_start": 0, "high_watermark": len(found)}
            records += [*found, Record(*partition, None, None, extra=extra)]
        return Completion(Outcome.OK, records)

    def _records(self, partition: Partition, position: int) -> Iterator[Record]:
        with self._cluster.lock:
            values = self._cluster.logs.get(partition, [])[position:]
        for offset, value in enumerate(values, start=position):
            yield Record(*partition, value, offset)

    async def close(self) -> None:
        pass


class FakeAdmin:
    """Says that all is well, unless the cluster never is."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    async def brokers(self) -> int:
        return 1

    async def serves_transactions(self) -> bool:
        return False

    async def create_topics(
        self, topics: Sequence[TopicSpec], replication_factor: int, timeout_s: float
    ) -> dict[str, str]:
        return {topic.name: f"id-of-{topic.name}" for topic in topics}

    async def why_not_well(
        self, topics: Sequence[TopicSpec], brokers: int, readable_only: bool = False
    ) -> str | None:
        return "it never is" if self._cluster.never_well and not readable_only else None

    async def answer_to_produce(self, topic: str, nonce: bytes) -> str:
        return f"A Produce to {topic} was answered UNKNOWN_SERVER_ERROR"

    def close(self) -> None:
        pass


def tools_for(
    cluster: FakeCluster, client: Callable[[FakeCluster, World], FakeClient] = FakeClient
) -> Tools:
    """Return the runner's tools, all on that cluster."""

    def factory(world: World, nonce: bytes) -> ClientFactory:
        def make(bootstrap: str, process: int, settings: ClientSettings) -> FakeClient:
            return client(cluster, world)

        return make

    return Tools(factory, factory, lambda world, bootstrap: FakeAdmin(cluster))
