"""Transactions over several partitions, some aborted; read_committed readers meanwhile."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from chaos.protocols import (
    Abort,
    Begin,
    ClientSettings,
    Commit,
    Completion,
    Isolation,
    Operation,
    Outcome,
    Send,
    TopicSpec,
)
from chaos.workloads.reading import everything, final_reads, poll_for_ever
from chaos.workloads.values import values_of


class Transactions:
    """Open, send to several partitions, commit or (one time in five) abort; poll meanwhile.

    Spec: KIP-98, transactional guarantees. An end without a clear answer is aborted where the
    client still can, and left to the next client of the same transactional id where it cannot.
    """

    name = "transactions"
    config: Mapping[str, str] = {}
    judged_by: tuple[str, ...] = (
        "lost_writes", "duplicates", "inconsistent_offsets", "phantom_records", "poll_order",
        "poll_skips", "append_order", "aborted_reads",
    )  # fmt: skip
    topic = "transactions"
    partitions = 8
    producers = 6
    pollers = 2
    processes = producers + pollers
    nodes_min = 1
    abort_share = 0.2
    sends_max = 4
    records_per_send_max = 6

    def topics(self) -> Sequence[TopicSpec]:
        return (TopicSpec(self.topic, self.partitions),)

    def settings(self, process: int) -> ClientSettings:
        if process >= self.producers:
            return ClientSettings(isolation=Isolation.READ_COMMITTED)
        return ClientSettings(acks=-1, idempotent=True, transactional=True)

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """The first processes run transactions, the others poll read_committed."""
        if process >= self.producers:
            return poll_for_ever(everything(self.topics()), rng)
        return self._transact_for_ever(process, rng)

    def _transact_for_ever(
        self, process: int, rng: Random
    ) -> Generator[Operation, Completion, None]:
        values = values_of(process)
        while True:
            # Drawn before anything happens, so that a failure does not shift later choices.
            aborts = rng.random() < self.abort_share
            partitions = rng.sample(range(self.partitions), rng.randint(2, self.sends_max))
            sizes = [rng.randint(1, self.records_per_send_max) for _ in partitions]
            if (yield Begin()).outcome is not Outcome.OK:
                continue
            completion = None
            for partition, size in zip(partitions, sizes, strict=True):
                completion = yield Send(self.topic, partition, tuple(islice(values, size)))
                if completion.outcome is not Outcome.OK:
                    break
            assert completion is not None  # a transaction has two sends at least
            if completion.outcome is Outcome.OK and not aborts:
                completion = yield Commit()
                if completion.outcome is Outcome.OK:
                    continue
            if not completion.broken:
                yield Abort()

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        return final_reads(self.topics(), Isolation.READ_COMMITTED)
