"""Recreate: topics that are deleted and created again under the same name, repeatedly."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import count
from random import Random

from chaos.values.operations import CommitPosition, FetchPositions, Recreate
from chaos.values.protocols import (
    Assign,
    ClientSettings,
    Completion,
    Isolation,
    Operation,
    Outcome,
    Poll,
    ReadAll,
    TopicSpec,
)
from chaos.workloads.reading import everything
from chaos.workloads.sending import send_for_ever

OPERATIONS_PER_TOPIC = 60


class Recreated:
    """Delete and create topics under the same names: a new topic must contain nothing of the old
    one.

    Spec: KIP-516, topic ids. Each process has its own topic: it writes to it, reads it, and
    replaces it when none of its operations is in progress. So it is known for every record to which
    of the topics with the same name it was sent. A record of unknown outcome may still reach the
    next topic. A group commits offsets in each topic, and must have none in the next one.
    """

    name = "recreate"
    config: Mapping[str, str] = {}
    judged_by: tuple[str, ...] = (
        "lost_writes",
        "inconsistent_offsets",
        "phantom_records",
        "poll_order",
        "poll_skips",
        "append_order",
        "duplicates",
        "committed_offsets",
    )
    partitions = 2
    processes = 4
    nodes_min = 1

    def topics(self) -> Sequence[TopicSpec]:
        return tuple(map(self._topic_of, range(self.processes)))

    def _topic_of(self, process: int) -> TopicSpec:
        return TopicSpec(f"recreate-{process}", self.partitions)

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=-1, idempotent=True)

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Yield, for one topic after another, a fetch and a commit of its group's offsets, sends
        with polls between them, and then its replacement, repeated until it succeeds."""
        topic = self._topic_of(process)
        sends = send_for_ever(topic.name, topic.partitions, process, rng)
        send = next(sends)
        ask = self._ask(topic)
        for position in count(1):
            yield ask
            yield CommitPosition(ask.group, topic.name, rng.choice(ask.partitions), position)
            completion = yield Assign(everything([topic]))
            for _ in range(rng.randint(OPERATIONS_PER_TOPIC // 2, OPERATIONS_PER_TOPIC * 3 // 2)):
                send = sends.send((yield send))
                completion = yield Poll(timeout_s=0.1)
                if completion.outcome is not Outcome.OK:
                    completion = yield Assign(everything([topic]))
            while (yield Recreate(topic)).outcome is not Outcome.OK:
                pass

    def _ask(self, topic: TopicSpec) -> FetchPositions:
        return FetchPositions(f"group-of-{topic.name}", topic.name, tuple(range(topic.partitions)))

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        """Yield, for each topic, a fetch of its group's offsets and a read of the last topic of
        that name."""
        for topic in self.topics():
            yield ClientSettings(), self._ask(topic)
        for topic in self.topics():
            yield ClientSettings(), ReadAll(everything([topic]), raw=True)
        for topic in self.topics():
            yield ClientSettings(), ReadAll(everything([topic]), Isolation.READ_UNCOMMITTED)
