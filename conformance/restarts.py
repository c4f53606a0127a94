"""The target goes down and comes back: when its partitions are led again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conformance.wire import Topic, Wire, eventually


def leader_epochs(wire: Wire, topic: Topic) -> list[int]:
    """The leader epoch of each partition, as Metadata tells it."""
    described = wire.topic_metadata(topic.name)
    return [p.leader_epoch for p in sorted(described.partitions, key=lambda p: p.partition_index)]


@contextmanager
def restarting(wire: Wire, *topics: Topic) -> Iterator[None]:
    """Inside, the case takes the target down and up again; afterwards these topics are led.

    A broker that comes back may answer under its old leadership for a moment, until the controller
    has noticed that it was gone, and then leads for the first time of its new life (seen on Apache
    Kafka 4.3.1): so a new leader epoch is waited for (KIP-101).
    """
    before = {topic: leader_epochs(wire, topic) for topic in topics}
    yield
    wire.forget_connections()
    for topic, old in before.items():
        eventually(
            lambda topic=topic: leader_epochs(wire, topic),  # type: ignore[misc]
            lambda new, old=old: (  # type: ignore[misc]
                len(new) == len(old) and all(now > then for now, then in zip(new, old, strict=True))
            ),
            f"the partitions of {topic.name} are led again, in another epoch than {old}",
            60,
        )
        wire.wait_for_topic(topic.name, topic.partitions)
