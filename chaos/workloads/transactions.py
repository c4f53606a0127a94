"""Transactions over several partitions, some aborted; read_committed readers meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from random import Random

from chaos.protocols import Send, TopicSpec
from chaos.workloads.transacting import ByTransactions, Steps, transaction
from chaos.workloads.values import values_of


class Transactions(ByTransactions):
    """Open, send to several partitions, commit or (one time in five) abort; poll meanwhile.

    Spec: KIP-98, transactional guarantees.
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

    def transact_for_ever(self, process: int, rng: Random) -> Steps:
        values = values_of(process)
        while True:
            # Drawn before anything happens, so that a failure does not shift later choices.
            aborts = rng.random() < self.abort_share
            partitions = rng.sample(range(self.partitions), rng.randint(2, self.sends_max))
            sizes = [rng.randint(1, self.records_per_send_max) for _ in partitions]
            sends = (
                Send(self.topic, partition, tuple(islice(values, size)))
                for partition, size in zip(partitions, sizes, strict=True)
            )
            yield from transaction(sends, aborts)
