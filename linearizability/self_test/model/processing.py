"""Transactions that read their inputs: by a reader of their own, or as members of a group.

A member's transaction commits the positions of its inputs together with its output (KIP-447). The
next owner of a partition gets its position only when that transaction has ended (require_stable).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from linearizability.history import F
from linearizability.self_test.model.consumers import COMMITTED, Consumer
from linearizability.self_test.model.world import TOPIC, Actor, Row, Steps, World

GROUP = "processors"


@dataclass
class Inputs:
    """The offsets that the group has committed and open transactions have sent, and the partitions
    that transactions have in progress."""

    committed: dict[int, int] = field(default_factory=dict)
    pending: dict[int, int] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)
    writers: dict[int, int | None] = field(default_factory=dict)
    """Partition -> the transaction whose offset is in force."""

    def end(self, reader: Consumer | None, end: str) -> None:
        """End this reader's transaction in the model of the group: its pending positions take
        effect if it is committed, and are dropped if not. Do nothing for None and for a reader
        outside the group."""
        if reader is None or reader.group != GROUP:
            return
        self.taken -= set(reader.positions)
        sent = {n: self.pending.pop(n) for n in reader.positions if n in self.pending}
        if end == "commit":
            self.committed |= sent
            self.writers |= dict.fromkeys(sent, reader.txn)


def reader_in(world: World, inputs: Inputs, process: int, txn: int) -> Consumer | None:
    """Return a consumer that reads within the transaction, alone or as a member of the group in one
    partition that no other transaction has taken, or None, at random, for a transaction that reads
    nothing. A member's partition is then taken, and the row of its position written."""
    rng = world.rng
    if rng.random() < 0.4:
        return None
    free = [p for p in world.partitions if p.number not in inputs.taken]
    reader = Consumer(world, GROUP if free and rng.random() < 0.5 else None)
    reader.process, reader.isolation, reader.txn = process, COMMITTED, txn
    reader.session = txn  # unique in the run, since positions are set again
    if reader.group is None:
        reader.assign(rng)  # without a group, it may begin at any offset
        reader.session = txn
    else:
        number = rng.choice(free).number
        known = inputs.committed.get(number)
        reader.positions = {number: known or 0}
        inputs.taken.add(number)
        begun = _row(F.POSITION, number) | {"asked": "committed", "asked_offset": known}
        world.write(reader.operation(), [begun | {"offset": known or 0, "type": "ok"}])
    return reader


def send_offsets(
    world: World, inputs: Inputs, reader: Consumer, producer_id: int, epoch: int
) -> Steps:
    """Send the reader's positions to its transaction, and write the rows. Return whether that was
    acknowledged."""
    rng = world.rng
    operation = reader.operation()
    shared: Row = {"producer_id": producer_id, "producer_epoch": epoch}
    rows = [
        _row(F.SEND_OFFSETS, number) | shared | {"offset": offset, "type": "info"}
        for number, offset in reader.positions.items()
    ]
    world.under_way[operation["op_id"]] = operation, rows
    yield
    arrives = rng.random() < 0.95
    if arrives:
        inputs.pending |= reader.positions
    yield
    outcome = "ok" if arrives and rng.random() < 0.95 else "info"
    if not arrives and rng.random() < 0.5:
        outcome = "fail"
    del world.under_way[operation["op_id"]]
    world.write(operation, [row | {"type": outcome} for row in rows])
    return outcome == "ok"


def asker(world: World, inputs: Inputs) -> Actor:
    """Fetch the group's position of a random partition every few turns, for ever. A fetch fails
    while offsets of the partition are pending."""
    process = next(world.processes)
    while True:
        for _ in range(world.rng.randint(1, 40)):
            yield
        yield from ask(world, inputs, process, world.rng.choice(world.partitions).number)


def ask(world: World, inputs: Inputs, process: int, number: int) -> Steps:
    operation = world.invoke(process) | {"group": GROUP}
    yield
    is_stable, known = number not in inputs.pending, inputs.committed.get(number)
    row = _row(F.FETCH_OFFSETS, number) | {"_txn": inputs.writers.get(number)}
    yield
    told: Row = {"type": "ok", "offset": known} if is_stable else {"type": "fail"}
    world.write(operation, [row | told])


def ask_finally(world: World, inputs: Inputs) -> None:
    """Fetch every position after all other operations are over, and write the rows."""
    process = next(world.processes)
    for partition in world.partitions:
        for _ in ask(world, inputs, process, partition.number):
            pass  # nobody else acts meanwhile


def _row(f: F, number: int) -> Row:
    return {"f": f.value, "topic": TOPIC, "partition": number}
