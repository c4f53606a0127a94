"""A producer over our own codec that sends requests which client libraries refuse to send.

The producer sends acknowledged batches again, begins its sequence numbers near their maximum, and
continues to write under a fenced epoch after it has begun a newer one (`raw_transactions.py` has
the requests of its transactions). A request is repeated, with the same sequence numbers, until it
is answered or the time is up. Sources: KIP-98; ProduceRequest.json; ProducerStateEntry,
NUM_BATCHES_TO_RETAIN (five batches).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

from chaos.clients import payload
from chaos.clients.wire.attempts import Refused, insist
from chaos.clients.wire.producer_identity import Identity, Place
from chaos.clients.wire.raw_transactions import TransactionalProducer
from chaos.clients.wire.wire_link import kafka_name
from chaos.means.connection import WireError
from chaos.record.outcomes import begin_outcome, send_outcome
from chaos.values.operations import (
    CommitAsFormer,
    RawSend,
    RejoinAsFormer,
    SendOffsets,
    SendOldMarker,
    Supersede,
)
from chaos.values.protocols import (
    Abort,
    Begin,
    ClientSettings,
    Commit,
    Completion,
    Crash,
    Operation,
    Outcome,
    Record,
    Send,
)
from chaos.world import World
from reference_impl.wire import TRANSACTIONAL_BIT, RecordBatch
from reference_impl.wire import Record as WireRecord

RETAINED_BATCHES = 5
SEQUENCES = 1 << 31
NO_OFFSET = -1
DUPLICATE = "DUPLICATE_SEQUENCE_NUMBER"


def _overlap(known: Sequence[bytes] | None, count: int) -> int | None:
    """Return a first sequence number for a batch of `count` records that overlaps the last known
    batch, but equals no batch that the leader knows. The new batch begins with the same number if
    the sizes differ and that number is even, ends with the same number if it is odd, and otherwise
    begins with the next number. Return None if no batch is known or no such number exists."""
    if not known:
        return None
    last, _ = RecordBatch.decode(known[-1])
    first, size = last.base_sequence, len(last.records)
    if size == count:
        return (first + 1) % SEQUENCES if size > 1 else None
    return first if first % 2 == 0 else (first + size - count) % SEQUENCES


class RawProducer(TransactionalProducer):
    """Sends the produce and transaction requests of one process in our own codec."""

    name = "raw"

    def __init__(
        self, world: World, bootstrap: str, settings: ClientSettings, nonce: bytes
    ) -> None:
        super().__init__(world, bootstrap, settings)
        self._nonce = nonce
        self._performers: dict[
            type[Operation], Callable[[Any], Coroutine[Any, Any, Completion]]
        ] = {
            Send: self._send,
            RawSend: self._send,
            Begin: self._begin,
            Commit: lambda _: self._end(self._known(), commits=True),
            Abort: lambda _: self._end(self._known(), commits=False),
            Supersede: self._supersede,
            CommitAsFormer: self._commit_as_former,
            RejoinAsFormer: self._rejoin_as_former,
            SendOldMarker: self._send_old_marker,
            SendOffsets: self._send_offsets,
            Crash: self._crash,
        }

    async def perform(self, operation: Operation) -> Completion:
        """Perform the operation. Return its completion, with the producer id if an idempotent
        producer got one for it."""
        before = self._identity
        completion = await self._performers[type(operation)](operation)
        if self._settings.transactional or self._identity in (None, before):
            return completion
        return replace(completion, more_rows=(self._row(self._identity), *completion.more_rows))

    async def _crash(self, _: Crash) -> Completion:
        return Completion(Outcome.OK, broken=True)

    async def _begin(self, _: Begin) -> Completion:
        told: tuple[Any, ...] = ()
        if self._identity is None:
            try:
                self._identity = await self._init()
            except Refused as error:
                return Completion(
                    begin_outcome(error.name), (), error.name, str(error), broken=True
                )
            told = (self._row(self._identity),)
        self._identity.joined, self._identity.groups = set(), set()
        return Completion(Outcome.OK, more_rows=told)

    async def _supersede(self, _: Supersede) -> Completion:
        try:
            successor = await self._init()
        except Refused as error:
            return Completion(Outcome.INFO, (), error.name, str(error), broken=True)
        self._former, self._identity = self._identity, successor
        return Completion(Outcome.OK, more_rows=(self._row(successor),))

    # --- records --------------------------------------------------------------------------------

    async def _send(self, send: Send) -> Completion:
        """Send all records in one batch. If the operation asks for it, also send older batches
        again."""
        raw = send if isinstance(send, RawSend) else RawSend(send.topic, send.partition, ())
        place, carried = (send.topic, send.partition), self._carried(send)
        offsets: list[int] = []
        outcome = Outcome.FAIL  # until a batch is sent
        try:
            identity = await self._writer(raw)
            if self._settings.transactional and raw.joins:
                await self._join(identity, place)
            if raw.resends_first:
                await self._send_again(identity, place, (0,))
            overlap = _overlap(identity.batches.get(place), len(send.values))
            if raw.overlaps and overlap is not None:
                return await self._overlapping(identity, send, carried, overlap)
            batch = self._batch(identity, send, carried, raw.first_sequence)

            async def attempt() -> str | None:
                name, offset = await self._produce(place, batch)
                offsets.append(offset)
                return None if name == DUPLICATE else name

            outcome = Outcome.INFO
            await insist(self._world, self._settings.delivery_timeout_ms / 1000, attempt)
        except Refused as error:
            if outcome is Outcome.INFO:
                outcome = send_outcome(error.name, single_attempt=error.attempts == 1)
            # A batch that the leader must refuse does not affect later batches.
            return self._unsent(send, outcome, error, broken=not raw.as_former and raw.joins)
        self._note(identity, place, batch, len(send.values), raw.first_sequence)
        await self._send_again(identity, place, raw.again)
        if raw.is_repeated:  # like a client that did not get the first answer
            offsets += await self._repeated(place, batch)
        records = [
            Record(
                *place,
                value,
                offsets[-1] + index if offsets[-1] >= 0 else None,
                t_complete_ns=self._world.monotonic_ns(),
            )
            for index, value in enumerate(send.values)
        ]
        return Completion(Outcome.OK, records, columns=payload.checksums_of(carried))

    async def _overlapping(
        self, identity: Identity, send: Send, carried: list[payload.Carried], sequence: int
    ) -> Completion:
        """Send a batch of new records once, with sequence numbers that overlap those of the batch
        before. The history gets the first of these numbers and the answer, whether or not it is an
        error."""
        place = send.topic, send.partition
        beside = {"sequence": sequence, **payload.checksums_of(carried)}
        batch = self._batch(replace(identity, sequences={place: sequence}), send, carried, sequence)
        try:
            name, offset = await self._produce(place, batch)
        except WireError as error:
            return replace(
                self._unsent(send, Outcome.INFO, Refused("WireError", 1, str(error)), broken=True),
                columns=beside,
            )
        if name is not None:
            outcome = send_outcome(name, single_attempt=True)
            unsent = self._unsent(send, outcome, Refused(name, 1), broken=outcome is Outcome.INFO)
            return replace(unsent, columns=beside)
        records = [Record(*place, value, offset + n) for n, value in enumerate(send.values)]
        return Completion(Outcome.OK, records, columns=beside)

    async def _writer(self, send: RawSend) -> Identity:
        """Return the identity to send under. An idempotent producer gets its producer id with the
        first send. Raise Refused if the send is to use the former identity and there is none."""
        if send.as_former:
            if self._former is None:
                raise Refused("_STATE", 0)
            return self._former
        if self._identity is None:
            self._identity = await self._init()
        return self._identity

    def _carried(self, send: Send) -> list[payload.Carried]:
        return [payload.record_for(send, i, self._nonce) for i in range(len(send.values))]

    def _batch(
        self, identity: Identity, send: Send, carried: list[payload.Carried], first: int
    ) -> bytes:
        now_ms = self._world.wall_ns() // 1_000_000
        times_ms = send.timestamps or (now_ms,) * len(carried)
        records = [
            WireRecord(one.value, one.key, list(one.headers), timestamp_delta=time_ms - times_ms[0])
            for one, time_ms in zip(carried, times_ms, strict=True)
        ]
        return RecordBatch(
            records,
            attributes=TRANSACTIONAL_BIT if self._settings.transactional else 0,
            base_timestamp=times_ms[0],
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            base_sequence=identity.sequences.get((send.topic, send.partition), first),
        ).encode()

    def _note(self, identity: Identity, place: Place, batch: bytes, count: int, first: int) -> None:
        sequence = identity.sequences.get(place, first)
        identity.sequences[place] = (sequence + count) % SEQUENCES
        identity.batches.setdefault(place, deque(maxlen=RETAINED_BATCHES)).append(batch)

    async def _send_again(self, identity: Identity, place: Place, again: tuple[int, ...]) -> None:
        """Resend, for each N in `again`, the batch that was sent N batches before the newest one;
        skip it if this producer no longer keeps it. The leader must still know it, since it keeps
        the last five. The answers prove nothing about the new record; the log shows whether a batch
        was written twice."""
        known = list(identity.batches.get(place, ()))
        for back in again:
            if back < len(known):
                await self._repeated(place, known[-1 - back])

    async def _repeated(self, place: Place, batch: bytes) -> list[int]:
        try:
            name, offset = await self._produce(place, batch)
        except WireError:
            return []
        return [] if name else [offset]

    async def _produce(self, place: Place, batch: bytes) -> tuple[str | None, int]:
        """Send the batch to the leader. Return (the name of the error or None, the base offset).
        Raise WireError if no answer comes."""
        found = await self._cluster.produce(*place, batch, self._settings.transactional_id)
        return kafka_name(found.error_code) if found.error_code else None, int(found.base_offset)

    def _unsent(self, send: Send, outcome: Outcome, error: Refused, broken: bool) -> Completion:
        records = [
            Record(send.topic, send.partition, value, None, outcome, error.name)
            for value in send.values
        ]
        columns = payload.checksums_of(self._carried(send))
        return Completion(outcome, records, error.name, str(error), broken, columns)

    async def close(self) -> None:
        self._cluster.close()
