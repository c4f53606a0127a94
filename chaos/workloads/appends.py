"""Appends by idempotent producers with acks=all; at the end the whole log is read."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from random import Random

from chaos.values.protocols import ClientSettings, Completion, Operation, TopicSpec
from chaos.workloads.asking import ask_for_ever
from chaos.workloads.reading import everything, final_reads, poll_for_ever
from chaos.workloads.sending import send_for_ever


class Appends:
    """Send distinct values with acks=all and poll them; at the end read everything."""

    name = "appends"
    config: Mapping[str, str] = {}
    judged_by: tuple[str, ...] = (
        "lost_writes",
        "duplicates",
        "inconsistent_offsets",
        "phantom_records",
        "poll_order",
        "poll_skips",
        "append_order",
    )
    topic = "appends"
    topic_config: Mapping[str, str] = {}
    partitions = 8
    from_log_start = False
    """Whether readers begin at the log start and not at offset 0, because older records may have
    been deleted."""
    producers = 6
    pollers = 2
    processes = producers + pollers
    nodes_min = 1

    def topics(self) -> Sequence[TopicSpec]:
        return (TopicSpec(self.topic, self.partitions, self.topic_config),)

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=-1, idempotent=True)

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Let the first processes send, the next ones poll, and further ones ask for the ends of
        the logs."""
        if process >= self.producers + self.pollers:
            return ask_for_ever(self.topic, self.partitions)
        if process >= self.producers:
            return poll_for_ever(everything(self.topics()), rng, self.from_log_start)
        return self.send(process, rng)

    def send(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Yield the operations of one producer."""
        return send_for_ever(self.topic, self.partitions, process, rng)

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        return final_reads(self.topics())
