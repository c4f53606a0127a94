"""What a broker does from time to time without being asked.

Source: LogManager.java (checkpointLogRecoveryOffsets, flushDirtyLogs), UnifiedLog.java
(removeExpiredProducers; KIP-854). Retention and compaction belong here once they exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reference_impl.core.effects import Effect, Report, SetTimer
from reference_impl.core.storage import StorageError

if TYPE_CHECKING:
    from reference_impl.core.broker import Broker

TIMER = "housekeeping"


def again(broker: Broker) -> Iterator[Effect]:
    """Set the time of the next round."""
    yield SetTimer(
        (TIMER,),
        min(
            broker.config.number("log.flush.offset.checkpoint.interval.ms"),
            broker.config.number("log.flush.scheduler.interval.ms"),
        ),
    )


def run(broker: Broker) -> Iterator[Effect]:
    """One round: flush what is due, forget idle producers, write the checkpoints."""
    expiration_ms = broker.config.number("producer.id.expiration.ms")
    try:
        for partition in broker.replicas:
            partition.log.producer_state.remove_expired(broker.now_ms, expiration_ms)
            if partition.log.flush_is_due(broker.now_ms):
                partition.log.flush()
        broker.logs.checkpoint()
    except StorageError as error:
        yield Report(f"housekeeping did not finish: {error}")
    yield from again(broker)
