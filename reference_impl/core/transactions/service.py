"""The transaction coordinators of this broker, each for one partition of `__transaction_state`:
found by transactional id, and woken by the clock.

Source: TransactionCoordinator.scala (onElection, onResignation, abortTimedOutTransactions),
TransactionStateManager.scala.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reference_impl.core.effects import Effect, SetTimer
from reference_impl.core.events import TimerKey
from reference_impl.core.partitions.keyed_topic import KeyedTopic
from reference_impl.core.refused import Refused
from reference_impl.core.shards.shards import Shards
from reference_impl.core.transactions.coordinator import TIMER, Shared, TransactionCoordinator
from reference_impl.core.transactions.transaction import Transaction
from reference_impl.wire import ErrorCode

TIMEOUTS, EXPIRY = "timeouts", "expiry"
_INTERVALS = {
    TIMEOUTS: "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    EXPIRY: "transaction.remove.expired.transaction.cleanup.interval.ms",
}


class TransactionCoordinators(Shards[TransactionCoordinator]):
    """The coordinators of the partitions that this broker leads."""

    def __init__(self, topic: KeyedTopic, shared: Shared) -> None:
        make = partial(TransactionCoordinator, topic, shared=shared)
        super().__init__(topic, shared.rules, shared.outbox, make)
        self._config = shared.config

    def of(self, key: str) -> TransactionCoordinator:
        """Return the coordinator of a transactional id. Raise Refused if the id is empty, or if its
        coordinator is not here or still loading."""
        if not key:
            raise Refused(ErrorCode.INVALID_REQUEST)
        return super().of(key)

    def every(self) -> list[Transaction]:
        """Return the replicated state of each transactional id of the loaded shards."""
        return [each for shard in self.active() for each in shard.transactions.values()]

    def start(self) -> Iterator[Effect]:
        """Set the two timers at whose end transactions past their timeout are aborted, and old
        transactional ids removed."""
        for what in _INTERVALS:
            yield self._again(what)

    def timer_fired(self, key: TimerKey) -> Iterator[Effect]:
        """Do what a timer is for, and set it again if it is one of `start`: abort transactions past
        their timeout, remove old transactional ids, or write the markers that one shard could not
        write."""
        what = key[1]
        if isinstance(what, int):
            if (shard := self.timed(key)) is not None:
                shard.markers_are_due()
            return
        yield self._again(what)
        for coordinator in self.active():
            if what == TIMEOUTS:
                coordinator.abort_timed_out()
            else:
                coordinator.expire()

    def _again(self, what: str) -> Effect:
        return SetTimer((TIMER, what), self._config().number(_INTERVALS[what]))
