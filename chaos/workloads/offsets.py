"""Offsets: positions of groups are committed and asked for, also after their coordinator died."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from random import Random

from chaos.operations import CommitPosition, FetchPositions
from chaos.protocols import ClientSettings, Completion, Operation, TopicSpec
from chaos.workloads.reading import final_reads
from chaos.workloads.sending import send_for_ever


class Offsets:
    """Commit positions and ask for them: every process must find what was committed last.

    Two processes commit for each partition of a group, now and then going back; all processes ask.
    The answers are of OffsetFetch with `require_stable` (KIP-447).
    """

    name = topic = "offsets"
    config: Mapping[str, str] = {}
    judged_by: tuple[str, ...] = (
        "committed_offsets",
        "lost_writes",
        "inconsistent_offsets",
        "phantom_records",
        "append_order",
    )
    partitions = 3
    groups = ("offsets-a", "offsets-b")
    rare_groups = tuple(f"offsets-rare-{number}" for number in range(4))
    rare_share = 0.01
    """The share of commits to rare groups; their last commits mostly lie before the last fault, so
    that one that a coordinator lost is missing to the end."""
    producers = 1
    committers = 6
    processes = producers + committers
    nodes_min = 1
    fetch_share = 0.5

    def topics(self) -> Sequence[TopicSpec]:
        return (TopicSpec(self.topic, self.partitions),)

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=-1, idempotent=True)

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Let the first process send and the others commit and ask."""
        if process < self.producers:
            return send_for_ever(self.topic, self.partitions, process, rng)
        return self._commit_for_ever(process, rng)

    def _commit_for_ever(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Commit offsets that are never the same twice in a process, so that an answer shows which
        commit it is."""
        offset = process
        while True:
            groups = self.rare_groups if rng.random() < self.rare_share else self.groups
            group, partition = rng.choice(groups), process % self.partitions
            if rng.random() < self.fetch_share:
                yield FetchPositions(group, self.topic, tuple(range(self.partitions)))
            else:
                offset += self.processes
                yield CommitPosition(group, self.topic, partition, offset)

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        """Yield reads of the last commits of each group, then of the log."""
        for group in (*self.groups, *self.rare_groups):
            everywhere = tuple(range(self.partitions))
            yield ClientSettings(), FetchPositions(group, self.topic, everywhere)
        yield from final_reads(self.topics())
