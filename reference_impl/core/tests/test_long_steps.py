"""No step of a node grows much with its number of partitions: what takes long for each of them,
such as to open a log, is done in a step of its own."""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.core.effects import Effect, GiveWay
from reference_impl.core.events import Event, GoOn
from reference_impl.core.tests.counting import counted
from reference_impl.core.tests.replicated_cluster import CREATE, TOPIC, ReplicatedCluster
from reference_impl.wire import ApiKey

FEW, MANY = 10, 30
CALLS_MAX = 700.0
"""The most calls in the longest step for each further partition: what it takes to decide on a
change, to write it, to note it in an image and to put it in force. To open a log takes twice as
many."""
BATCHES_MAX = 10
"""The most metadata batches while a node returns: it joins all ISRs of a leader with one."""


class CountedCluster(ReplicatedCluster):
    """Three nodes that give way wherever they can. `longest` has the calls of the longest step."""

    longest = 0

    def boot(self, node: int) -> None:
        super().boot(node)
        booted, step = self.nodes[node], self.nodes[node].step
        booted.must_give_way = lambda: True
        booted.step = lambda event: self._counted(step, event)  # type: ignore[method-assign]

    def _counted(
        self, step: Callable[[Event], tuple[Effect, ...]], event: Event
    ) -> tuple[Effect, ...]:
        effects, calls = counted(lambda: step(event))
        self.longest = max(self.longest, calls)
        return effects

    def _perform(self, node: int, effect: Effect) -> None:
        if isinstance(effect, GiveWay):
            connection = effect.request.connection
            self.at(0, lambda: self.step(node, GoOn(*self.moment(), connection)))
        else:
            super()._perform(node, effect)


def longest_steps(partitions: int) -> dict[str, int]:
    """Return the calls of the longest step while a topic is made, while a node of three dies, and
    while it returns. Check that it is in sync again, and that this takes few metadata batches."""
    cluster, found = CountedCluster(), {}

    def note(phase: str) -> None:
        found[phase], cluster.longest = cluster.longest, 0

    def all_have(members: int) -> bool:
        states = cluster.nodes[1].broker.image.topics[TOPIC].partitions.values()
        return all(len(state.isr) == members for state in states)

    cluster.longest = 0
    row = CREATE.struct(
        "CreatableTopic", name=TOPIC, num_partitions=partitions, replication_factor=3
    )
    cluster.send(1, ApiKey.CREATE_TOPICS, 7, CREATE.new(topics=[row], timeout_ms=5_000))
    cluster.run(3_000)
    note("made")
    cluster.kill(3)
    cluster.run(5_000)
    assert all_have(2)
    note("fenced")
    syncs = batches_of(cluster)
    cluster.boot(3)
    cluster.run(5_000)
    assert all_have(3)
    note("returned")
    assert batches_of(cluster) - syncs < BATCHES_MAX
    return found


def batches_of(cluster: ReplicatedCluster) -> int:
    """Return the number of batches in the metadata log, each of which was synced."""
    return sum(1 for _ in cluster.nodes[1].broker.quorum.log.log.batches())


def test_the_longest_step_hardly_grows_with_the_number_of_partitions() -> None:
    few, many = longest_steps(FEW), longest_steps(MANY)
    growth = {phase: (many[phase] - few[phase]) / (MANY - FEW) for phase in few}
    assert all(calls <= CALLS_MAX for calls in growth.values()), growth
