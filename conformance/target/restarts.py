"""Wait, when the target was restarted, until its partitions have leaders again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from conformance.patience import PATIENCE
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import ErrorCode

LED_AGAIN_S = 60.0
"""The longest wait for the partitions."""


def leader_epochs(wire: Wire, topic: Topic) -> list[int]:
    """Return the leader epoch of each partition, as Metadata reports it."""
    return [partition.leader_epoch for partition in wire.topic_metadata(topic.name).partitions]


@contextmanager
def restarting(wire: Wire, *topics: Topic) -> Iterator[None]:
    """Let the case stop and start the target in the block, and then wait until these topics have
    leaders. Raise Deviation if that takes too long.

    A restarted broker may answer for a moment in its old leadership, until the controller has
    noticed that it was gone; only then does it become leader in a new epoch (seen on Apache Kafka
    4.3.1). So this waits for a newer leader epoch (KIP-101), and for all replicas to be in sync,
    since fewer may be too few for a Produce (min.insync.replicas).
    """
    before = {topic: leader_epochs(wire, topic) for topic in topics}
    began = time.monotonic()
    yield
    wire.forget_connections()
    for topic, old in before.items():
        eventually(
            lambda topic=topic, old=old: is_led_again(wire, topic, old),  # type: ignore[misc]
            bool,
            f"the partitions of {topic.name} are led again, in other epochs than {old}",
            LED_AGAIN_S,
        )
    PATIENCE.note_return(time.monotonic() - began)


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
