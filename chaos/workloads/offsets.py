"""Offsets: group offsets are committed and fetched, also after their coordinator died."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from random import Random

from chaos.values.operations import CommitPosition, DeletePositions, FetchPositions
from chaos.values.protocols import ClientSettings, Completion, Operation, TopicSpec
from chaos.workloads.reading import final_reads
from chaos.workloads.sending import send_for_ever


class Offsets:
    """Commit and fetch group offsets: every process must get the last commit.

    Two processes commit for each partition of a group, and sometimes lower offsets than before; all
    processes fetch, by OffsetFetch with `require_stable` (KIP-447). Some requests contain two
    topics. Offsets of rarely used groups are deleted, or the group with all of its offsets is
    (KIP-496; KIP-229).
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
    """The share of operations on rarely used groups. Their last commits and deletions are mostly
    older than the last fault. If a coordinator has lost one, no later commit hides that."""
    delete_share, whole_group_share = 0.4, 0.5
    """For rarely used groups: the share of deletions among the changes of offsets, and the share of
    whole groups among these deletions."""
    beside_share = 0.3
    """The share of requests that also name the other topic."""
    producers = 1
    committers = 6
    processes = producers + committers
    nodes_min = 1
    fetch_share = 0.5

    @property
    def other_topic(self) -> str:
        """The topic to which no process writes, but for which groups commit offsets."""
        return f"{self.topic}-other"

    def topics(self) -> Sequence[TopicSpec]:
        return tuple(TopicSpec(name, self.partitions) for name in (self.topic, self.other_topic))

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=-1, idempotent=True)

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Let the first process send, and let the others commit and fetch offsets."""
        if process < self.producers:
            return send_for_ever(self.topic, self.partitions, process, rng)
        return self._commit_for_ever(process, rng)

    def _commit_for_ever(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Yield commits, fetches and, for rare groups, deletions of offsets. A process never
        commits the same offset twice, so that a fetched offset identifies its commit."""
        offset, partition = process, process % self.partitions
        while True:
            is_rare = rng.random() < self.rare_share
            group = rng.choice(self.rare_groups if is_rare else self.groups)
            others = (self.other_topic,) if rng.random() < self.beside_share else ()
            if rng.random() < self.fetch_share:
                yield FetchPositions(group, self.topic, tuple(range(self.partitions)), others)
            elif is_rare and rng.random() < self.delete_share:
                yield self._deletion(group, rng)
            else:
                offset += self.processes
                beside = tuple((topic, partition, offset) for topic in others)
                yield CommitPosition(group, self.topic, partition, offset, beside=beside)

    def _deletion(self, group: str, rng: Random) -> DeletePositions:
        """Return the deletion of a whole group, or of its offsets for one partition of both
        topics."""
        is_whole = rng.random() < self.whole_group_share
        wanted = range(self.partitions) if is_whole else [rng.randrange(self.partitions)]
        topics = (self.topic, self.other_topic)
        places = tuple((topic, partition) for topic in topics for partition in wanted)
        return DeletePositions(group, places, is_whole)

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        """Yield fetches of each group's committed offsets, then reads of the log."""
        everywhere = tuple(range(self.partitions))
        for group in (*self.groups, *self.rare_groups):
            both = FetchPositions(group, self.topic, everywhere, (self.other_topic,))
            yield ClientSettings(), both
        yield from final_reads(self.topics())
