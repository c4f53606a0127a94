"""A controller with brokers that a test plays: they register, send heartbeats, lead and stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.controller.leaders.broker_changes import (
    Reply,
    fence_in_slices,
    hear_heartbeat,
    register_broker,
    silent_brokers,
)
from reference_impl.core.controller.leaders.isr_changes import alter_partitions
from reference_impl.core.controller.records import new_partition, new_topic
from reference_impl.core.events import TimerFired
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.core.tests.world import World
from reference_impl.wire import Struct, definition

TOPIC = UUID(int=7)
REGISTRATION = definition("BrokerRegistrationRequest")
HEARTBEAT = definition("BrokerHeartbeatRequest")
ALTER = definition("AlterPartitionRequest")
CAUGHT_UP = 1 << 40
"""A metadata offset beyond everything."""
SESSION_MS = 9_000


class Scene:
    """The brokers 1, 2 and 3, and the active controller on node 9."""

    def __init__(self, rules: type[Rules] = Rules, config: Mapping[str, str] | None = None) -> None:
        self.world = World({"node.id": "9", **(config or {})}, rules)
        self.epochs: dict[int, int] = {}
        self.incarnations = 0
        for broker in (1, 2, 3):
            self.register(broker)
            self.beat(broker)

    @property
    def controller(self) -> Controller:
        return self.world.node.broker.controller

    def pass_time(self, ms: int) -> None:
        """Let time pass for the controller, without its timers."""
        self.world.monotonic_ms += ms
        self.world.node.broker.moment.enter(TimerFired(*self.world.moment(), ("test",)))

    def registration(self, broker: int, previous_epoch: int = -1) -> Struct:
        levels = self.controller.image.features.items()
        self.incarnations += 1
        return REGISTRATION.new(
            broker_id=broker,
            cluster_id=self.controller.cluster_id,
            incarnation_id=UUID(int=self.incarnations),
            listeners=[REGISTRATION.struct("Listener", name="PLAINTEXT", host="b", port=9092)],
            features=[
                REGISTRATION.struct("Feature", name=name, max_supported_version=level)
                for name, level in levels
            ],
            log_dirs=[UUID(int=1000 + broker)],
            previous_broker_epoch=previous_epoch,
        )

    def register(self, broker: int, previous_epoch: int = -1) -> int:
        body = self.registration(broker, previous_epoch)
        self.controller.sessions.forget(broker)  # that of the process before is over
        self.epochs[broker] = register_broker(self.controller, body)
        return self.epochs[broker]

    def beat(self, broker: int, **fields: object) -> Reply:
        body = HEARTBEAT.new(
            broker_id=broker, broker_epoch=self.epochs[broker], current_metadata_offset=CAUGHT_UP
        )
        for name, value in fields.items():
            setattr(body, name, value)
        return hear_heartbeat(self.controller, body)

    def fence(self, broker: int) -> None:
        self.beat(broker, want_fence=True)

    def fence_silent(self) -> list[int]:
        """Fence all brokers whose sessions are over, and return their ids."""
        found = []
        while (broker := next(silent_brokers(self.controller), None)) is not None:
            found.append(broker)
            for _ in fence_in_slices(self.controller, broker):
                pass
        return found

    def make(self, *replicas: int) -> None:
        """Create the topic with one partition on these replicas."""
        self.controller.write([new_topic("t", TOPIC), new_partition(TOPIC, 0, replicas)])

    @property
    def state(self) -> PartitionImage:
        return self.controller.image.topics["t"].partitions[0]

    def led(self) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
        """The leader, leader epoch, ISR and ELR of the partition."""
        state = self.state
        return state.leader, state.leader_epoch, state.isr, state.elr

    def alter(
        self,
        broker: int,
        isr: Sequence[int],
        *,
        epochs: Mapping[int, int] | None = None,
        leader_epoch: int | None = None,
        partition_epoch: int | None = None,
        recovering: bool = False,
    ) -> PartitionImage:
        """Let a broker ask for another ISR."""
        known = {**self.epochs, **(epochs or {})}
        state = self.state
        rows = [
            ALTER.struct("BrokerState", broker_id=each, broker_epoch=known.get(each, -1))
            for each in isr
        ]
        wanted = ALTER.struct(
            "PartitionData",
            leader_epoch=state.leader_epoch if leader_epoch is None else leader_epoch,
            partition_epoch=state.partition_epoch if partition_epoch is None else partition_epoch,
            new_isr_with_epochs=rows,
            leader_recovery_state=int(recovering),
        )
        (found,) = alter_partitions(self.controller, broker, TOPIC, [wanted])
        if isinstance(found, Refused):
            raise found
        return found
