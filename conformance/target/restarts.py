"""The target goes down and comes back: when its partitions are led again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import ErrorCode


def leader_epochs(wire: Wire, topic: Topic) -> list[int]:
    """Return the leader epoch of each partition, as Metadata reports it."""
    described = wire.topic_metadata(topic.name)
    return [p.leader_epoch for p in sorted(described.partitions, key=lambda p: p.partition_index)]


@contextmanager
def restarting(wire: Wire, *topics: Topic) -> Iterator[None]:
    """Let the case take the target down and up again inside, and wait afterwards until these topics
    are led.

    A broker that comes back may answer under its old leadership for a moment, until the controller
    has noticed that it was gone, and then leads for the first time of its new life (seen on Apache
    Kafka 4.3.1): so a new leader epoch is waited for (KIP-101).
    """
    before = {topic: leader_epochs(wire, topic) for topic in topics}
    yield
    wire.forget_connections()
    for topic, old in before.items():
        eventually(
            lambda topic=topic, old=old: _is_led_again(wire, topic, old),  # type: ignore[misc]
            bool,
            f"the partitions of {topic.name} are led again, in other epochs than {old}",
            60,
        )


def _is_led_again(wire: Wire, topic: Topic, old: list[int]) -> bool:
    """Return whether the leader of each partition serves under a newer epoch."""
    new = leader_epochs(wire, topic)
    if len(new) != len(old) or any(now <= then for now, then in zip(new, old, strict=True)):
        return False
    # Metadata may know the new leadership before its leader does: so the leader is asked, too.
    return all(
        wire.fetch(topic, 0, partition=index, current_leader_epoch=epoch).error_code
        in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE)
        for index, epoch in enumerate(new)
    )
