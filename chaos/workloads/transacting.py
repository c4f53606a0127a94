"""The common base of transactional workloads: some processes write in transactions, the others
read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from enum import Enum
from random import Random

from chaos.values.operations import Idle
from chaos.values.protocols import (
    Abort,
    Begin,
    ClientSettings,
    Commit,
    Completion,
    Crash,
    Isolation,
    Operation,
    Outcome,
    Send,
    TopicSpec,
)
from chaos.workloads.reading import everything, final_reads, poll_for_ever

Steps = Generator[Operation, Completion, None]


class ByTransactions(ABC):
    """Let the first processes run transactions, and let the others poll with read_committed."""

    producers: int

    @abstractmethod
    def topics(self) -> Sequence[TopicSpec]: ...

    @abstractmethod
    def transact_for_ever(self, process: int, rng: Random) -> Steps:
        """Yield the operations of a writing process."""

    def settings(self, process: int) -> ClientSettings:
        if process >= self.producers:
            return ClientSettings(isolation=Isolation.READ_COMMITTED)
        return ClientSettings(acks=-1, idempotent=True, transactional=True)

    def operations(self, process: int, rng: Random) -> Steps:
        if process >= self.producers:
            return poll_for_ever(everything(self.topics()), rng)
        return self.transact_for_ever(process, rng)

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        return final_reads(self.topics(), Isolation.READ_COMMITTED)


class End(Enum):
    """The ways in which a transaction ends."""

    COMMIT = "commit"
    ABORT = "abort"
    CRASH = "crash"
    """The client dies; the InitProducerId of the next client ends the transaction, or the
    coordinator does so before."""
    DESPITE = "despite"
    """A commit is asked for although a send has failed; the client must refuse it."""
    LATE = "late"
    """The commit is requested only after the coordinator must have aborted the transaction."""
    SLOW = "slow"
    """There is a pause after each send, and the commit comes as late as in LATE: partitions that
    join later must not prolong the transaction."""
    PATIENT = "patient"
    """The commit is requested after most of the time-out; the coordinator must not have aborted the
    transaction yet."""


def transaction(sends: Iterable[Send], end: End, idle_s: float = 0.0) -> Steps:
    """Yield the operations of one transaction: its sends until one fails, a pause of idle_s
    seconds (with SLOW after each send), then its end. If a send has failed, or the end has no clear
    response, abort the transaction if the client still can; else leave it to the next client with
    the same transactional id. Yield nothing after a Begin that fails."""
    if (yield Begin()).outcome is not Outcome.OK:
        return
    completion = Completion(Outcome.OK)
    for send in sends:
        completion = yield send
        if completion.outcome is not Outcome.OK:
            break
        if end is End.SLOW:
            yield Idle(idle_s)
    if completion.outcome is Outcome.OK and end is End.CRASH:
        yield Crash()
    if completion.outcome is Outcome.OK and idle_s and end is not End.SLOW:
        yield Idle(idle_s)
    if completion.outcome is Outcome.OK and end is End.CRASH:
        return
    is_asked = end is End.DESPITE and not completion.broken
    if is_asked or (completion.outcome is Outcome.OK and end is not End.ABORT):
        completion = yield Commit()
        if completion.outcome is Outcome.OK:
            return
    if not completion.broken:
        yield Abort()
