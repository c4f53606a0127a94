"""Read whole partitions with an ordinary consumer of any library: the common part of the final
reads.

The end of a partition is its high watermark, requested over our own codec. A read_committed
consumer that stops at a last stable offset below it has not read the whole partition; it waits for
a transaction to end. So a consumer must report its position after control records and aborted
records, which no delivered record shows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from chaos.clients.wire.wire_link import EARLIEST, LATEST, READ_COMMITTED, WireCluster
from chaos.means.connection import WireError
from chaos.values.protocols import Completion, Outcome, ReadAll, Record
from chaos.world import World

READ_TIMEOUT_S = 60.0
"""The limit in seconds of a final read: more than a transaction's timeout (10 s) plus the
coordinator's interval for ending timed-out transactions (10 s)."""
RETRY_S = 0.3


@dataclass
class Reading:
    """The state of reading one partition: the offset that must be reached, and the records so
    far."""

    leader_epoch: int
    log_start: int
    high_watermark: int
    last_stable_offset: int
    records: list[Record] = field(default_factory=list)
    position: int = -1

    @property
    def complete(self) -> bool:
        return self.position >= self.high_watermark


Readings = dict[tuple[str, int], Reading]


def out_of_time(readings: Readings) -> str:
    """Return a sentence that names the partitions whose end was not reached before the deadline,
    and says of each how far the reader came, and what held it up if that is known."""
    left = [_left(f"{t}-{p}", one) for (t, p), one in readings.items() if not one.complete]
    return f"not read to the end within {READ_TIMEOUT_S:.0f} s: {', '.join(left)}"


def _left(name: str, reading: Reading) -> str:
    """Return how far the reading of a partition came, and whether it stopped at the last stable
    offset. name: TOPIC-PARTITION."""
    if reading.position == reading.last_stable_offset < reading.high_watermark:
        why = ", the last stable offset, where a transaction has not ended"
    else:
        why = ""
    return f"{name} (up to offset {reading.position}{why}; the end is {reading.high_watermark})"


async def read_all(
    world: World,
    operation: ReadAll,
    bootstrap: str,
    read: Callable[[Readings, float], Awaitable[str | None]],
    error_type: type[Exception],
) -> Completion:
    """Read the partitions from log start to the high watermark; start again after a failure until
    READ_TIMEOUT_S is over. Return the records and a `read_all` row for each partition. The outcome
    is INFO if an end was not reached. `read` is one attempt with a new consumer until the deadline:
    it fills the readings and returns what prevented their completion, or None if they are complete;
    it may raise an `error_type`."""
    deadline = world.monotonic() + READ_TIMEOUT_S
    while True:
        readings: Readings = {}
        problem: str | None = None
        try:
            readings = await _bounds(world, operation, bootstrap)
            problem = await read(readings, deadline)
        except (WireError, error_type) as error:
            problem = str(error)
        if problem is None or world.monotonic() > deadline:
            return _completion(operation, readings, problem)
        await world.sleep(RETRY_S)  # start again: two halves, read at different times, may not fit


async def _bounds(world: World, operation: ReadAll, bootstrap: str) -> Readings:
    cluster = WireCluster(world, bootstrap)
    try:
        readings = {}
        for topic, partition in operation.partitions:
            leader = await cluster.leader(topic, partition)
            readings[topic, partition] = Reading(
                leader.epoch,
                await cluster.offset(leader, topic, partition, EARLIEST),
                await cluster.offset(leader, topic, partition, LATEST),
                await cluster.offset(leader, topic, partition, LATEST, READ_COMMITTED),
            )
        return readings
    finally:
        cluster.close()


def _completion(operation: ReadAll, readings: Readings, problem: str | None) -> Completion:
    records: list[Record] = []
    for topic, partition in operation.partitions:
        reading = readings.get((topic, partition))
        complete = reading is not None and reading.complete
        records += reading.records if reading else []
        extra = {
            "f": "read_all",
            "leader_epoch": reading.leader_epoch if reading else None,
            "log_start": reading.log_start if reading else None,
            "high_watermark": reading.high_watermark if reading else None,
            "last_stable_offset": reading.last_stable_offset if reading else None,
            "detail": None if complete else problem,
        }
        outcome = Outcome.OK if complete else Outcome.INFO
        records.append(Record(topic, partition, None, None, outcome, extra=extra))
    outcome = Outcome.OK if problem is None else Outcome.INFO
    return Completion(outcome, records, None if problem is None else "_NOT_READ", problem)


def together(records: list[Record]) -> Outcome:
    """Return one outcome for a whole request: that of its records if they all agree, else INFO
    (also without records)."""
    outcomes = {record.outcome for record in records}
    return outcomes.pop() if len(outcomes) == 1 else Outcome.INFO
