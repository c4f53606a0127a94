"""Groups whose topic gets more partitions after the group has settled."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from random import Random

from chaos.values.operations import Grow, Idle
from chaos.values.protocols import (
    ClientSettings,
    CommitOffsets,
    Completion,
    Operation,
    Outcome,
    Poll,
    Subscribe,
    TopicSpec,
)
from chaos.workloads.groups import ConsumerGroups
from chaos.workloads.sending import send_for_ever

SETTLED_AFTER_S = 10.0


class GrowingGroups(ConsumerGroups):
    """Keep the members of a KIP-848 group while their topic grows from four partitions to six.

    No member joins or leaves then, so that only the coordinator can notice the new partitions, and
    it must assign them. One process grows the topic and sends to all of its partitions.
    """

    name = "groups-growing"
    partitions_at_first = 4
    processes = ConsumerGroups.processes + 1

    def topics(self) -> Sequence[TopicSpec]:
        return (TopicSpec(self.name, self.partitions, at_first=self.partitions_at_first),)

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Let the first processes send, the last one grow the topic, and the others be group
        members."""
        if process < self.producers:
            return send_for_ever(self.name, self.partitions_at_first, process, rng)
        return (
            self._grow(process, rng) if process == self.processes - 1 else self._stay(process, rng)
        )

    def settings(self, process: int) -> ClientSettings:
        return super().settings(0 if process == self.processes - 1 else process)

    def _stay(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Yield the operations of a member that stays until the run ends."""
        while True:
            completion = yield Subscribe((self.name,))
            while not completion.broken:
                completion = yield Poll(max_records=self.records_per_poll_max)
                has_read = completion.outcome is Outcome.OK and completion.records
                if self._commits_itself(process) and has_read and rng.random() < self.commit_share:
                    completion = yield CommitOffsets()

    def _grow(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Wait SETTLED_AFTER_S, in which the group settles, grow the topic, repeating that until it
        succeeds, then send."""
        (topic,) = self.topics()
        yield Idle(SETTLED_AFTER_S)
        while (yield Grow(topic)).outcome is not Outcome.OK:
            pass
        yield from send_for_ever(self.name, self.partitions, process, rng)

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        """Yield the growth, in case a short run has not reached it, and the final reads."""
        (topic,) = self.topics()
        yield ClientSettings(), Grow(topic)
        yield from super().final_operations()
