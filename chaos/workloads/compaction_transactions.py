"""Compaction with transactions: keys written in transactions, some aborted, amid cleanings."""

from __future__ import annotations

from collections.abc import Generator, Iterator
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
)
from chaos.workloads.compaction import Compaction
from chaos.workloads.reading import everything, final_reads, poll_for_ever
from chaos.workloads.values import values_of


class CompactionInTransactions(Compaction):
    """Compaction, by transactions that are open across many cleanings: what was aborted takes no
    older value away, and what is undecided is left alone.

    Spec: KIP-98; LogCleanerManager, cleanableOffsets (nothing above the last stable offset).
    """

    name = topic = "compaction-transactions"
    judged_by = (*Compaction.judged_by, "aborted_reads", "dirty_reads", "hanging_transactions")
    sends_max = 120
    """As many as take a few seconds: segments are closed and cleaned meanwhile."""
    abort_share = 0.5

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
        """Each transaction is of one partition, so that the others' are cleaned past it."""
        values = values_of(process)
        while True:
            aborts, partition = rng.random() < self.abort_share, rng.randrange(self.partitions)
            sends = rng.randint(1, self.sends_max)
            if (yield Begin()).outcome is not Outcome.OK:
                continue
            completion = Completion(Outcome.OK)
            while sends > 0 and completion.outcome is Outcome.OK:
                sends -= 1
                completion = yield self._next_send(partition, values, rng)
            if completion.outcome is Outcome.OK and not aborts:
                completion = yield Commit()
                if completion.outcome is Outcome.OK:
                    continue
            if not completion.broken:
                yield Abort()

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        return final_reads(self.topics(), Isolation.READ_COMMITTED)
