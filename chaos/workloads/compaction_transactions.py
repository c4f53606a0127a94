"""Compaction with transactions: keys are written in transactions, some of them aborted, while the
log is cleaned."""

from __future__ import annotations

from random import Random

from chaos.workloads.compaction import Compaction
from chaos.workloads.transacting import ByTransactions, End, Steps, transaction
from chaos.workloads.values import values_of


class CompactionInTransactions(ByTransactions, Compaction):
    """Write keys in transactions that stay open across many cleanings of the log.

    An aborted value must not remove an older one, and undecided values must not be touched. Spec:
    KIP-98; LogCleanerManager, cleanableOffsets (nothing above the last stable offset).
    """

    name = topic = "compaction-transactions"
    judged_by = (*Compaction.judged_by, "aborted_reads", "dirty_reads", "hanging_transactions")
    sends_max = 120
    """The number of sends in the longest transactions. They take a few seconds, in which segments
    are closed and cleaned."""
    abort_share = 0.5

    topics = Compaction.topics

    def transact_for_ever(self, process: int, rng: Random) -> Steps:
        """Send one transaction after another, each in one partition, so that the cleaner can
        advance in the others."""
        values = values_of(process)
        while True:
            aborts, partition = rng.random() < self.abort_share, rng.randrange(self.partitions)
            count = rng.randint(1, self.sends_max)
            sends = (self._next_send(partition, values, rng) for _ in range(count))
            yield from transaction(sends, End.ABORT if aborts else End.COMMIT)
