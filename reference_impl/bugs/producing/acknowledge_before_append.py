"""A broker answers Produce, and appends up to 200 ms later."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, SetTimer
from reference_impl.core.events import Event, Stopping, TimerFired, TimerKey
from reference_impl.core.log import AppendResult
from reference_impl.core.node import Node
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.wire import NO_TIMESTAMP

TIMER: TimerKey = ("late-append",)
DELAY_MS = 200


class AcknowledgeBeforeAppend(Rules):
    """Real-world kin: a write-back cache in front of the log, lost with the process.

    Breaks:     an acknowledged record must survive `kill -9` (design#replication: an acknowledged
                record is in the log).
    Caught by:  workload appends, nemesis kill, checkers lost_writes and inconsistent_offsets.
    Within:     one run of 30 seconds.

    Without a crash the only effect is a delay: the batch gets the promised offset, since it is
    appended before the next batch of its partition.
    """

    def __init__(self) -> None:
        self._late: dict[tuple[str, int], tuple[Partition, ValidatedBatch, int]] = {}

    def append(self, partition: Partition, batch: ValidatedBatch, now_ms: int) -> AppendResult:
        """Return the result that the append will have, and postpone the append."""
        self._late[partition.topic, partition.index] = (partition, batch, now_ms)
        base_offset = partition.log.log_end_offset
        is_stamped = partition.config.uses_log_append_time
        return AppendResult(
            base_offset,
            base_offset + batch.header.last_offset_delta,
            batch.header.max_timestamp if is_stamped else NO_TIMESTAMP,
            partition.log.log_start_offset,
        )

    def may_acknowledge(self, partition: Partition, acks: int, last_offset: int) -> bool:
        """Return True, because the high watermark does not cover the batch yet."""
        return True

    def duplicate_of(self, partition: Partition, batch: ValidatedBatch) -> AppendResult | None:
        """Append the partition's postponed batch before the next one is checked. Return the earlier
        append of the batch, or None."""
        late = self._late.pop((partition.topic, partition.index), None)
        if late is not None:
            super().append(*late)
        return super().duplicate_of(partition, batch)

    @property
    def _has_late(self) -> bool:
        """Return whether an append was acknowledged that is not yet in the log."""
        return bool(self._late)

    def _append_all(self, broker: Broker) -> None:
        """Append every postponed batch, except those whose partition the broker has no more."""
        late, self._late = self._late, {}
        for partition, batch, now_ms in late.values():
            if broker.replicas.get(partition.topic, partition.index) is partition:
                super().append(partition, batch, now_ms)


class LateNode(Node):
    """A node that performs the appends that its rules postpone."""

    _timer_runs = False

    def step(self, event: Event) -> tuple[Effect, ...]:
        return tuple(self._late_effects(event))

    def _late_effects(self, event: Event) -> Iterator[Effect]:
        rules = self.rules
        assert isinstance(rules, AcknowledgeBeforeAppend)
        if isinstance(event, TimerFired) and event.key == TIMER:
            self._timer_runs = False
            rules._append_all(self.broker)
            yield from self.answer_waiting()
            return
        if isinstance(event, Stopping):
            rules._append_all(self.broker)
        yield from super().step(event)
        if rules._has_late and not self._timer_runs:
            self._timer_runs = True
            yield SetTimer(TIMER, DELAY_MS)
