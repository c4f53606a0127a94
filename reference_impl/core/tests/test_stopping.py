"""A broker stops when others lead what it leads, and a broker that cannot register gives up."""

from __future__ import annotations

from reference_impl.core.effects import Effect, Stop
from reference_impl.core.events import StopAsked
from reference_impl.core.tests.replicated_cluster import FAST, ReplicatedCluster


class Watched(ReplicatedCluster):
    """A cluster that notes which nodes may end, and why."""

    def __init__(self, configs: dict[str, str] | None = None) -> None:
        self.stopped: dict[int, str | None] = {}
        super().__init__(configs=configs)

    def _perform(self, node: int, effect: Effect) -> None:
        if isinstance(effect, Stop):
            self.stopped[node] = effect.failure
        else:
            super()._perform(node, effect)

    def ask_to_stop(self, node: int) -> None:
        self.step(node, StopAsked(*self.moment()))


def test_a_leader_may_end_when_another_leads_and_the_others_know_it() -> None:
    cluster = Watched()
    cluster.create()
    leader = cluster.leader()
    cluster.ask_to_stop(leader)
    assert cluster.stopped == {} and cluster.leader() == leader
    cluster.run(1_000)
    assert cluster.stopped == {leader: None}
    assert cluster.leader() not in (leader, -1)
    assert not cluster.partition(leader).leads


def test_a_broker_that_no_controller_hears_may_end_after_half_a_session() -> None:
    cluster = Watched()
    for other in (2, 3):
        cluster.kill(other)
    cluster.run(2_000)
    cluster.ask_to_stop(1)
    cluster.run(1_000)
    assert cluster.stopped == {}
    cluster.run(1_000)
    assert cluster.stopped == {1: None}


def test_a_broker_that_cannot_register_in_time_ends_with_the_reason() -> None:
    cluster = Watched({**FAST, "initial.broker.registration.timeout.ms": "5000"})
    for node in (1, 2, 3):
        cluster.kill(node)
    cluster.boot(1)
    cluster.run(4_000)
    assert cluster.stopped == {}
    cluster.run(2_000)
    failure = cluster.stopped[1]
    assert failure is not None
    assert "broker 1 could not register within 5000 ms" in failure
