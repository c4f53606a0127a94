"""Wait, when the target was restarted, until its partitions have leaders again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from conformance.patience import PATIENCE
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import ErrorCode

LED_AGAIN_S = 60.0
"""The longest wait for the partitions."""
KEPT_S = 9.5
"""The seconds after which a leader that has its old epoch keeps it: longer than the session of a
broker (broker.session.timeout.ms), after which the controller has noticed that it was gone."""


def leader_epochs(wire: Wire, topic: Topic) -> list[int]:
    """Return the leader epoch of each partition, as Metadata reports it."""
    return [partition.leader_epoch for partition in wire.topic_metadata(topic.name).partitions]


@contextmanager
def restarting(wire: Wire, *topics: Topic) -> Iterator[None]:
    """Let the case stop and start the target in the block, and then wait until these topics have
    leaders. Raise Deviation if that takes too long.

    A restarted broker may answer for a moment in its old leadership, until the controller has
    noticed that it was gone; only then does it become leader in a new epoch (seen on Apache Kafka
    4.3.1). So this waits for a newer leader epoch (KIP-101), or until the leader has kept the old
    one for KEPT_S (Apache Kafka 3.9.1 does, if a lone broker is killed and soon starts again), and
    for all replicas to be in sync, since fewer may be too few for a Produce (min.insync.replicas).
    """
    before = {topic: leader_epochs(wire, topic) for topic in topics}
    began = time.monotonic()
    yield
    wire.forget_connections()
    for topic, old in before.items():
        eventually(
            _Return(wire, topic, old).is_over,
            bool,
            f"the partitions of {topic.name} are led again, after epochs {old}",
            LED_AGAIN_S,
        )
    PATIENCE.note_return(time.monotonic() - began)


@dataclass
class _Return:
    """The return of a topic's leaders after a restart; `old` are its epochs before."""

    wire: Wire
    topic: Topic
    old: list[int]
    kept_since: float | None = None
    """Since when all partitions were led each time, not all of them in a newer epoch."""

    def is_over(self) -> bool:
        """Return whether all partitions are led in a newer epoch, or have been led, some in the old
        one, for KEPT_S."""
        if is_led_again(self.wire, self.topic, self.old):
            return True
        if not is_led_again(self.wire, self.topic, [epoch - 1 for epoch in self.old]):
            self.kept_since = None
            return False
        if self.kept_since is None:
            self.kept_since = time.monotonic()
        return time.monotonic() - self.kept_since > KEPT_S


def is_led_again(wire: Wire, topic: Topic, old: list[int]) -> bool:
    """Return whether each partition has all its replicas in sync, and a leader that serves it in a
    newer epoch than in `old`."""
    new = leader_epochs(wire, topic)
    described = wire.topic_metadata(topic.name).partitions
    if any(len(each.isr_nodes) < len(each.replica_nodes) for each in described):
        return False
    if len(new) != len(old) or any(now <= then for now, then in zip(new, old, strict=True)):
        return False
    # Metadata may know the new leadership before its leader does: so the leader is asked, too.
    return all(
        wire.fetch(topic, 0, partition=index, current_leader_epoch=epoch).error_code
        in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE)
        for index, epoch in enumerate(new)
    )
