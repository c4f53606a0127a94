"""The phases of a run, from the creation of topics to the last read. They work in any World, and
need no run directory.

    topics   create the topics, and record them in the history
    attack   let processes and nemesis work for the given seconds
    heal     undo all faults; let processes end what they have open
    recover  wait until the cluster is healthy, within a time limit
    read     perform the final operations
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from chaos.run.final_phase import HealthCheck, await_recovery, read_finally
from chaos.run.first_phase import record_topics, replicated
from chaos.run.tasks import Tasks
from chaos.run.unread import try_unread
from chaos.run.workers import FaultPerformer, Shared, act
from chaos.values.faults import Heal
from chaos.values.protocols import ClientFactory, Cluster, Nemesis, TopicSpec, Workload

TOPICS_TIMEOUT_S = 60.0
WARM_UP_TIMEOUT_S = 30.0
JOIN_TIMEOUT_S = 60.0
LOOK_EVERY_S = 0.2


class Administrator(HealthCheck, Protocol):
    """The runner's own access to a cluster (chaos.clients.wire.admin; tests have their own)."""

    async def brokers(self) -> int: ...

    async def serves_transactions(self) -> bool: ...

    async def create_topics(
        self, topics: Sequence[TopicSpec], replication_factor: int, timeout_s: float
    ) -> dict[str, str]: ...

    async def answer_to_produce(self, topic: str, nonce: bytes) -> str: ...

    def close(self) -> None: ...


class Onlooker(Protocol):
    """An observer of a run, which shows its progress to the user."""

    def watch(self, elapsed_s: float | None) -> None:
        """Observe the attack; called several times a second. elapsed_s: None before the first
        acknowledgement. An exception raised here ends the run."""
        ...

    def tell(self, sentence: str) -> None: ...


@dataclass(frozen=True)
class Means:
    """The factories and the administrator by which operations reach the cluster."""

    clients: ClientFactory
    raw_clients: ClientFactory
    admin: Administrator
    brokers: int


class Phases:
    """The state and the phases of one workload and one nemesis on a cluster that has started."""

    def __init__(
        self,
        shared: Shared,
        workload: Workload,
        nemesis: Nemesis,
        cluster: Cluster,
        means: Means,
        onlooker: Onlooker,
    ) -> None:
        self._shared = shared
        self._world = shared.world
        self._workload = workload
        self._means = means
        self._onlooker = onlooker
        self._cluster = cluster
        self._tasks = Tasks(shared)
        self.fault_performer = FaultPerformer(shared, nemesis, cluster)
        self.has_attacked = False
        self.recovered = False

    async def make_topics(
        self, given: Mapping[str, str], config: Mapping[str, str], replicas: int
    ) -> None:
        """Create the topics and record them in the history. Raise WireError if a topic cannot be
        created. given: the settings that the scenario names; config: all settings of the
        brokers."""
        world, variety = self._world, self._shared.variety
        topics = [
            replicated(variety.of_topic(topic), replicas, given)
            for topic in self._workload.topics()
        ]
        began = world.monotonic_ns(), world.wall_ns()
        ids = await self._means.admin.create_topics(topics, replicas, TOPICS_TIMEOUT_S)
        self._shared.recorder.topic_ids.update(ids)
        record_topics(self._shared.recorder, topics, config, *began, world.monotonic_ns())

    async def attack(self, seconds: float) -> None:
        """Start the processes, then the nemesis at the first acknowledgement, or at the end of the
        warm-up (WARM_UP_TIMEOUT_S) if none comes. Return after this many seconds from then, or
        earlier if the run is told to stop. Processes and nemesis still work until `heal`."""
        self.has_attacked = True
        for process in range(self._workload.processes):
            work = partial(act, self._shared, self._workload, process, self._means.clients)
            self._tasks.start(f"process {process}", work)
        await self._warm_up()
        self._tasks.start("nemesis", self.fault_performer.run)
        began, elapsed = self._world.monotonic(), 0.0
        while elapsed < seconds and not self._shared.stop.is_set():
            self._onlooker.watch(elapsed)
            await self._shared.stop.wait(LOOK_EVERY_S)
            elapsed = self._world.monotonic() - began

    async def _warm_up(self) -> None:
        """Wait for the first acknowledgement: a broker that has just started needs seconds for it,
        and faults before that would show nothing."""
        shared, deadline = self._shared, self._world.monotonic() + WARM_UP_TIMEOUT_S
        while not shared.recorder.records_acknowledged and self._world.monotonic() < deadline:
            self._onlooker.watch(None)
            await shared.stop.wait(LOOK_EVERY_S)

    async def heal(self) -> None:
        """Tell processes and nemesis to stop, wait for the nemesis, and undo its faults in the
        cluster. Note a problem of the run if the nemesis does not stop in JOIN_TIMEOUT_S."""
        self._shared.stop.set()
        if not await self._tasks.join_last(JOIN_TIMEOUT_S):  # the nemesis
            self._shared.problem("the nemesis did not stop; see the node logs")
        await self.fault_performer.perform(Heal())
        self._shared.healed.set()

    async def recover(self) -> None:
        """Wait until processes have settled and the cluster is healthy, each within a time limit.
        Set `recovered`. A cluster that does not recover is noted as a problem of the run."""
        await self._tasks.join(JOIN_TIMEOUT_S)
        topics, brokers = self._workload.topics(), self._means.brokers
        self.recovered = await await_recovery(
            self._shared, self._means.admin, topics, brokers, self._onlooker.tell
        )

    async def read(self) -> None:
        """Perform the final operations. If a partition has no leader to read from, perform none,
        note that as a problem of the run, and try to read each partition (`unread`)."""
        topics, means, shared = self._workload.topics(), self._means, self._shared
        if reason := await means.admin.why_not_well(topics, means.brokers, True):
            shared.problem(f"nothing could be read at the end: {reason}")
            places = [(topic.name, number) for topic in topics for number in range(topic.made)]
            await try_unread(shared, places, means.raw_clients, self._workload.processes)
        else:
            await read_finally(shared, self._workload, means.clients, means.raw_clients)

    async def stop(self, timeout_s: float) -> None:
        """Tell every task that still runs to end, and wait for them, at most for timeout_s. Before,
        heal the faults if that was not done; a heal that fails is only noted."""
        shared = self._shared
        shared.abandoned.set()
        shared.stop.set()
        try:
            if self.has_attacked and not shared.healed.is_set():
                await self.fault_performer.perform(Heal())
        except Exception as error:
            shared.note(f"could not heal: {error}")
        finally:
            shared.healed.set()
            await self._tasks.join(timeout_s)
