"""Controllers that are no brokers: they elect, register and hand over, and hold no partition."""

from __future__ import annotations

from reference_impl.core.effects import Effect, Stop
from reference_impl.core.events import StopAsked
from reference_impl.core.tests.cluster import Cluster
from reference_impl.core.tests.replicated_cluster import CREATE, FAST
from reference_impl.wire import ApiKey

CONTROLLERS, BROKERS = (1, 2, 3), (4, 5)


class ApartCluster(Cluster):
    """Three controllers and two brokers, each a node of its own."""

    has_controllers_apart = True

    def __init__(self) -> None:
        self.stopped: list[int] = []
        super().__init__(seed=1, voters=len(CONTROLLERS), observers=len(BROKERS), configs=FAST)
        self.run(3_000)

    def _perform(self, node: int, effect: Effect) -> None:
        if isinstance(effect, Stop):
            assert effect.failure is None
            self.stopped.append(node)
        else:
            super()._perform(node, effect)

    def active(self) -> int:
        """Return the node of the active controller."""
        (found,) = (
            number for number, node in self.nodes.items() if node.broker.quorum.active_epoch
        )
        return found

    def create(self, topic: str) -> int:
        """Ask a broker for a topic with a copy on each broker, and return the error code."""
        row = CREATE.struct(
            "CreatableTopic", name=topic, num_partitions=1, replication_factor=len(BROKERS)
        )
        body = CREATE.new(topics=[row], timeout_ms=20_000)
        self.send(BROKERS[0], ApiKey.CREATE_TOPICS, 7, body)
        self.run(5_000)
        return int(self.answers[BROKERS[0]].pop().topics[0].error_code)


def test_controllers_register_as_such_and_not_as_brokers() -> None:
    cluster = ApartCluster()
    for node in cluster.nodes.values():
        image = node.broker.image
        assert sorted(image.brokers) == list(BROKERS)
        assert sorted(image.controllers) == list(CONTROLLERS)
    assert cluster.create("t") == 0
    placed = cluster.nodes[1].broker.image.topics["t"].partitions[0]
    assert sorted(placed.isr) == list(BROKERS)


def test_brokers_go_on_with_the_next_controller_and_the_killed_one_returns() -> None:
    cluster = ApartCluster()
    assert cluster.create("before") == 0
    first = cluster.active()
    cluster.kill(first)
    assert cluster.create("meanwhile") == 0
    assert cluster.active() != first
    cluster.boot(first)
    cluster.run(3_000)
    assert cluster.nodes[first].broker.image.topics.keys() == {"before", "meanwhile"}
    assert not cluster.nodes[cluster.active()].broker.image.brokers[BROKERS[0]].fenced


def test_a_controller_that_stops_hands_over_before_a_fetch_timeout() -> None:
    cluster = ApartCluster()
    first = cluster.active()
    epoch = cluster.nodes[first].broker.quorum.epoch
    asked_ms = cluster.now_ms
    cluster.step(first, StopAsked(*cluster.moment()))
    assert cluster.stopped == []
    while not cluster.stopped:
        cluster.run(1)
        assert cluster.now_ms - asked_ms < cluster.nodes[1].config.number(
            "controller.quorum.fetch.timeout.ms"
        )
    assert cluster.stopped == [first]
    assert cluster.active() != first
    assert cluster.nodes[first].broker.quorum.epoch == epoch + 1, "one election was enough"


def test_a_last_controller_stops_although_nobody_can_follow_it() -> None:
    cluster = ApartCluster()
    first = cluster.active()
    for other in CONTROLLERS:
        if other != first:
            cluster.kill(other)
    cluster.step(first, StopAsked(*cluster.moment()))
    cluster.run(4_000)
    assert cluster.stopped == []
    cluster.run(2_000)
    assert cluster.stopped == [first]
