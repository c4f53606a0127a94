"""Run a transactional producer, and check that each transaction is visible in both partitions and
the group, or nowhere.

Source: KIP-98 (a decided transaction is completed after any crash), KIP-360 and KIP-890 (epochs).
"""

from __future__ import annotations

from random import Random

from reference_impl.robustness.kills.station import Broken, Link, Station
from reference_impl.robustness.kills.worker import Worker
from reference_impl.robustness.transactional_client import (
    TransactionalClient,
    committed_offset,
    read_committed,
)
from reference_impl.wire import ApiKey, ErrorCode

TOPIC = "t"
"""The topic to which TransactionalClient writes."""
PARTITIONS = (0, 1)
COMMITS, GIVES_UP, WITH_OFFSETS = 0.7, 0.1, 0.5
UNDECIDED = ("Ongoing", "PrepareCommit", "PrepareAbort")


class Transactions(Worker):
    """A worker that runs one transaction after another; some are aborted, some are abandoned to the
    next producer."""

    def __init__(
        self, station: Station, name: str, random: Random, versions: dict[str, int]
    ) -> None:
        super().__init__(station, name, random)
        self.client = TransactionalClient(self.link, name, versions)
        self._adds_beforehand = versions["produce"] < 12
        self.committed: list[str] = []
        self.aborted: list[str] = []
        self.committed_offset = -1

    def work(self) -> None:
        number = 0
        self.until_done(lambda: int(self.client.init().error_code))
        while not self.is_ending:
            self._transaction(number)
            number += 1
            self.pause()

    def _transaction(self, number: int) -> None:
        value = f"{self.name}/{number}"
        if self._adds_beforehand:
            self.until_done(lambda: self.client.add(TOPIC, *PARTITIONS))
        for partition in PARTITIONS:
            self._send(value, partition)
        with_offsets = self.random.random() < WITH_OFFSETS
        if with_offsets:
            if self._adds_beforehand:
                self.until_done(lambda: self.client.add_offsets(self.name))
            self.until_done(lambda: self.client.commit_offset(number, self.name))
        if self.random.random() < GIVES_UP:
            # The next producer of this id finds the transaction open, and aborts it.
            self.until_done(lambda: int(self.client.init().error_code))
            self.aborted.append(value)
            return
        commits = self.random.random() < COMMITS
        self.until_done(lambda: int(self.client.end(commit=commits).error_code))
        (self.committed if commits else self.aborted).append(value)
        if commits and with_offsets:
            self.committed_offset = number

    def _send(self, value: str, partition: int) -> None:
        self.until_done(lambda: int(self.client.send(value, partition=partition).error_code))

    @property
    def done(self) -> int:
        return len(self.committed) + len(self.aborted)

    def verify(self, link: Link) -> int:
        """Verify what a read_committed consumer and the group see. Return the number of
        transactions. Raise Broken if that differs from what was committed."""
        for partition in PARTITIONS:
            visible = read_committed(link, TOPIC, partition)
            mine = [value for value in visible if value.startswith(f"{self.name}/")]
            if mine != self.committed:
                wrong = sorted(set(mine) ^ set(self.committed))[:5]
                raise Broken(f"{self.name}: {TOPIC}-{partition} differs in {wrong}, or in order")
            end = link.fetch(TOPIC, partition=partition)
            if end.last_stable_offset != end.high_watermark:
                raise Broken(f"{self.name}: a transaction in {TOPIC}-{partition} has no end")
        found = committed_offset(link, self.name, stable=True)
        if found != (self.committed_offset, ErrorCode.NONE):
            raise Broken(
                f"{self.name}: the group's committed offset is {found}, but the last one committed"
                f" was {self.committed_offset}"
            )
        self._verify_state(link)
        return self.done

    def _verify_state(self, link: Link) -> None:
        answer = link.call(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[self.name])
        row = answer.transaction_states[0]
        if row.error_code:
            raise Broken(
                f"{self.name}: DescribeTransactions of it fails: {ErrorCode(row.error_code).name}"
            )
        if row.transaction_state in UNDECIDED:
            raise Broken(
                f"{self.name}: its last transaction ended, but its state is still"
                f" {row.transaction_state!r}"
            )
