"""Producers of the model: idempotent or not, with any acks, with or without transactions.

Requests and answers get lost, retries are deduplicated by sequence (or not, without idempotence), a
request may arrive after its client has given up, and a client may die in the middle of a
transaction. At a leader that does not know the producer, one of its first batches may overtake
another.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from linearizability.history import F
from linearizability.self_test.model.consumers import poll
from linearizability.self_test.model.partition import Entry, Partition
from linearizability.self_test.model.processing import Inputs, reader_in, send_offsets
from linearizability.self_test.model.world import Actor, Row, Steps, World

TIMEOUT = '{"transaction.timeout.ms": "60000"}'
PATIENCE = 60
"""The number of turns that a client waits for replicas."""


@dataclass
class Producer:
    """The state of one producer, at the client and at the broker."""

    process: int
    acks: int
    idempotent: bool
    producer_id: int
    epoch: int = 0
    sequences: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    unfinished_markers: int = 0
    txn: int | None = None

    def entries(self, partition: Partition, values: list[int]) -> list[Entry]:
        if not self.idempotent:
            return [Entry(value) for value in values]
        first = self.sequences[partition.number]
        self.sequences[partition.number] += len(values)
        return [
            Entry(v, None, self.producer_id, self.epoch, first + n, 0, self.txn is not None)
            for n, v in enumerate(values)
        ]

    def begin_epoch(self, epoch: int) -> None:
        """Start a new epoch, in which sequence numbers begin at 0 in every partition (KIP-360); do
        nothing if it is not newer."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.sequences.clear()


def plain_producer(world: World) -> Actor:
    rng = world.rng
    acks, idempotent = rng.choice([(-1, True), (-1, True), (-1, False), (1, False), (0, False)])
    producer = Producer(next(world.processes), acks, idempotent, next(world.producer_ids))
    while True:
        outcome, values, partition = yield from send(world, producer)
        if outcome != "ok":  # whether its sequences were used is unknown
            producer.begin_epoch(producer.epoch + 1)
        if outcome == "info" and rng.random() < 0.2:
            # The workload itself repeats it.
            again, _, _ = yield from send(world, producer, partition, values)
            if again != "ok":
                producer.begin_epoch(producer.epoch + 1)
        yield


def send(
    world: World,
    producer: Producer,
    partition: Partition | None = None,
    values: list[int] | None = None,
) -> Steps:
    """Perform one send operation, of one to three new records to a random partition by default, and
    write its rows. Return its outcome, values and partition."""
    rng = world.rng
    partition = partition or rng.choice(world.partitions)
    values = values or [next(world.values) for _ in range(rng.randint(1, 3))]
    operation = world.invoke(producer.process)
    shared: Row = {
        "acks": producer.acks,
        "idempotent": producer.idempotent,
        "txn": producer.txn,
        "type": "info",
        "offset": None,
    }
    rows = [world.send_row(partition, value) | shared for value in values]
    world.under_way[operation["op_id"]] = operation, rows
    yield
    is_first = producer.idempotent and not partition.knows(producer.producer_id)
    if is_first and producer.txn is None and len(values) > 1 and rng.random() < 0.5:
        outcome, offsets = yield from _overtake(producer, partition, values)
    else:
        outcome, base = yield from _produce(world, producer, partition, values)
        offsets = [] if base is None else list(range(base, base + len(values)))
    del world.under_way[operation["op_id"]]
    for n, row in enumerate(rows):
        row["type"] = outcome
        row["offset"] = offsets[n] if outcome == "ok" and offsets else None
    world.write(operation, rows, completed=outcome != "info" or rng.random() < 0.5)
    return outcome, values, partition


def _produce(world: World, producer: Producer, partition: Partition, values: list[int]) -> Steps:
    """Send a batch in up to three attempts. Return (outcome, base offset); the offset is None
    unless the leader has acknowledged it. A batch of unknown outcome may arrive later."""
    rng = world.rng
    entries = producer.entries(partition, values)
    reached = False
    for _ in range(rng.randint(1, 3)):
        yield
        if rng.random() < 0.1:
            continue  # the request is lost
        reached = True
        base = _append(producer, partition, entries)
        if base is None:
            return "info", None  # refused by a leader that lost the batch before it
        entries = partition.log[base : base + len(entries)]
        last = base + len(entries) - 1
        if producer.acks == 0:
            return "ok", None
        patience = rng.randint(5, PATIENCE)
        while producer.acks == -1 and patience and partition.high_watermark <= last:
            patience -= 1
            yield
            if not partition.holds(last, entries[-1]):
                break  # the leader changed and the batch is gone: the client tries again
        acknowledged = producer.acks == 1 or (
            partition.high_watermark > last and partition.holds(last, entries[-1])
        )
        if acknowledged and rng.random() < 0.9:
            return "ok", base
    if not reached and rng.random() < 0.5:
        return "fail", None
    if producer.txn is None and rng.random() < 0.3:
        world.actors.append(_late(world, producer, partition, entries))
    return "info", None


def _overtake(producer: Producer, partition: Partition, values: list[int]) -> Steps:
    """Send several batches in flight to a leader that does not know the producer. The first is
    refused, but the later ones are accepted, whatever their sequence; so the first is sent again in
    a new epoch and comes last (ProducerAppendInfo.checkSequence; KIP-360). Return ("ok", offsets)
    or ("info", [])."""
    _, *others = producer.entries(partition, values)
    placed = [(partition.append([entry]), entry) for entry in others]
    yield
    producer.begin_epoch(producer.epoch + 1)
    again = producer.entries(partition, values[:1])
    if not partition.accepts(again[0]):
        return "info", []
    placed.insert(0, (partition.append(again), again[0]))
    last = placed[0][0]
    for _ in range(PATIENCE):
        if all(partition.holds(*place) for place in placed):
            if partition.high_watermark > last:
                return "ok", [offset for offset, _ in placed]
            yield
    return "info", []


def _append(producer: Producer, partition: Partition, entries: list[Entry]) -> int | None:
    """Append at the broker. Return the offset, or None if the batch is refused. Without
    idempotence, every attempt appends a new copy."""
    if producer.idempotent:
        first = entries[0]
        known = partition.find(first.producer_id, first.producer_epoch, first.sequence)
        if known is not None:
            return known
        if not partition.accepts(first):
            return None
    copies = [Entry(**vars(entry) | {"removed": False}) for entry in entries]
    return partition.append(copies)


def _late(world: World, producer: Producer, partition: Partition, entries: list[Entry]) -> Actor:
    """Deliver a request that was in flight when its client gave up."""
    for _ in range(world.rng.randint(1, 100)):
        yield
    _append(producer, partition, entries)


# --- transactions ---------------------------------------------------------------------------------


def transactional_producer(world: World, inputs: Inputs) -> Actor:
    rng = world.rng
    producer = Producer(next(world.processes), -1, True, next(world.producer_ids))
    is_new = True
    while True:
        while producer.unfinished_markers:
            yield  # CONCURRENT_TRANSACTIONS until the markers of the last one are written
        if is_new:
            is_new = False
            _init(world, producer)
        producer.txn = next(world.transactions)
        begun = _row(producer, F.BEGIN, "ok") | {"transactional_id": str(producer.producer_id)}
        world.write(world.invoke(producer.process), [begun])
        touched: dict[int, Partition] = {}
        good = True
        reader = reader_in(world, inputs, producer.process, producer.txn)
        for _ in range(rng.randint(1, 4)):
            if reader is not None and good:  # after a bad poll its position is unknown
                good = yield from poll(world, reader)
            outcome, _, partition = yield from send(world, producer)
            touched[partition.number] = partition
            good = good and outcome == "ok"
            if outcome != "ok":
                break  # the client is to abort
        wanted = F.COMMIT if good and rng.random() < 0.75 else F.ABORT
        is_member = reader is not None and reader.group is not None
        if reader is not None and is_member and (wanted is F.COMMIT or rng.random() < 0.3):
            sent = yield from send_offsets(
                world, inputs, reader, producer.producer_id, producer.epoch
            )
            wanted = wanted if sent else F.ABORT
        end = yield from _end(world, producer, list(touched.values()), wanted)
        if end is not None:
            inputs.end(reader, end)
        if rng.random() < 0.1:
            producer.process = next(world.processes)
            is_new = True
        yield


def _init(world: World, producer: Producer) -> None:
    """Begin a new epoch, which fences every older one, and write the row of the InitProducerId that
    answered it."""
    producer.begin_epoch(producer.epoch + 1)
    row = {
        "f": F.INIT_PRODUCER.value,
        "type": "ok",
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "transactional_id": str(producer.producer_id),
        "settings": TIMEOUT,
    }
    world.write(world.invoke(producer.process), [row])


def _end(world: World, producer: Producer, touched: list[Partition], wanted: F) -> Steps:
    """End a transaction, and write the rows of its requests (none if the client dies first). Return
    "commit" or "abort", or None if it hangs for ever."""
    rng = world.rng
    if rng.random() < 0.1:  # the client dies; the coordinator aborts by time-out, or not in time
        if rng.random() < 0.9:
            _decide(world, producer, touched, "abort")
            return "abort"
        producer.unfinished_markers = 1  # a hanging transaction blocks this producer for good
        return None
    while True:
        operation = world.invoke(producer.process)
        world.under_way[operation["op_id"]] = operation, [_row(producer, wanted, "info")]
        yield
        takes_effect = rng.random() < 0.9
        if takes_effect:  # EndTxn is answered before the markers are written
            _decide(world, producer, touched, wanted.value)
        answered = takes_effect and rng.random() < 0.85
        for _ in range(rng.randint(0, 3)):
            yield
        # A fenced or timed-out commit may have happened, whatever its error says.
        outcome = "ok" if answered else rng.choice(["info", "fail"])
        del world.under_way[operation["op_id"]]
        world.write(operation, [_row(producer, wanted, outcome)])
        if takes_effect:
            return wanted.value
        wanted = F.ABORT


def _row(producer: Producer, f: F, outcome: str) -> Row:
    return {"f": f.value, "type": outcome, "txn": producer.txn}


def _decide(world: World, producer: Producer, touched: list[Partition], end: str) -> None:
    # Transaction version 2 begins an epoch with each transaction, version 1 after errors.
    producer.begin_epoch(producer.epoch + (1 if end == "abort" else world.rng.choice([0, 1])))
    epoch = producer.epoch
    assert producer.txn is not None
    world.ends[producer.txn] = end
    for partition in touched:
        producer.unfinished_markers += 1
        world.actors.append(_marker(producer, partition, end, epoch, producer.txn))


def _marker(producer: Producer, partition: Partition, end: str, epoch: int, txn: int) -> Actor:
    """Write the marker, again if it is lost, until it is replicated; then end the transaction."""
    while True:
        marker = Entry(None, end, producer.producer_id, epoch, -1, 0, True, txn=txn)
        offset = partition.append([marker])
        while partition.holds(offset, marker) and partition.high_watermark <= offset:
            yield
        if partition.holds(offset, marker):
            partition.end_transaction(producer.producer_id, end)
            producer.unfinished_markers -= 1
            return
        yield
