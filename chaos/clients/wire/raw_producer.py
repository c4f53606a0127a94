"""A producer over our own codec that sends requests which client libraries refuse to send.

It sends acknowledged batches again, begins its sequence numbers near their maximum, and continues
to write and commit as a fenced producer after its own successor has begun. It uses the protocol of
clients before KIP-890: partitions join a transaction by AddPartitionsToTxn, and an epoch lasts
until the next InitProducerId. A request is repeated, with the same sequence numbers, until it is
answered or the time is up. Sources: KIP-98; ProduceRequest.json; ProducerStateEntry,
NUM_BATCHES_TO_RETAIN (five batches).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

from chaos.clients import payload
from chaos.clients.transaction_rows import init_producer_row
from chaos.clients.wire.attempts import Refused, insist
from chaos.clients.wire.group_offsets import REFUSED
from chaos.clients.wire.producer_identity import (
    GROUP,
    INIT_TIMEOUT_S,
    IdentifiedProducer,
    Identity,
    Place,
)
from chaos.clients.wire.wire_link import kafka_name
from chaos.means.connection import WireError
from chaos.record.outcomes import begin_outcome, end_outcome, send_outcome
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
from reference_impl.wire import TRANSACTIONAL_BIT, ApiKey, RecordBatch, request_definition
from reference_impl.wire import Record as WireRecord

RETAINED_BATCHES = 5
SEQUENCES = 1 << 31
END_TIMEOUT_S = 20.0
NO_OFFSET = -1
DUPLICATE = "DUPLICATE_SEQUENCE_NUMBER"


def _overlap(known: Sequence[bytes] | None, count: int) -> int | None:
    """Return the first sequence number of a batch of `count` records that has some numbers of the
    last known batch, but is no batch that the leader knows: with the same first number if the sizes
    differ and that number is even, with the same last one if it is odd, else with the next first
    one. Return None if there is no such number."""
    if not known:
        return None
    last, _ = RecordBatch.decode(known[-1])
    first, size = last.base_sequence, len(last.records)
    if size == count:
        return (first + 1) % SEQUENCES if size > 1 else None
    return first if first % 2 == 0 else (first + size - count) % SEQUENCES


class RawProducer(IdentifiedProducer):
    """The raw producer of one process."""

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
        """Send one batch of all records. If the operation says so, also send older batches
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
            # A batch that the leader must refuse changes nothing of what follows.
            return self._unsent(send, outcome, error, broken=not raw.as_former and raw.joins)
        self._note(identity, place, batch, len(send.values), raw.first_sequence)
        await self._send_again(identity, place, raw.again)
        if raw.is_repeated:  # as a client does that has lost the first answer
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
        """Send a batch of new records once, with sequence numbers of the batch before it. The
        history has the first of these numbers, and the answer whatever it is."""
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
        """Return the identity that sends. An idempotent producer gets its producer id with the
        first send."""
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
        """Resend the batches sent this many sends ago, each of which the leader must still know: it
        keeps the last five. The answers prove nothing about the new record; the log shows whether
        one was written twice."""
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
        Raise WireError."""
        found = await self._cluster.produce(*place, batch, self._settings.transactional_id)
        return kafka_name(found.error_code) if found.error_code else None, int(found.base_offset)

    def _unsent(self, send: Send, outcome: Outcome, error: Refused, broken: bool) -> Completion:
        records = [
            Record(send.topic, send.partition, value, None, outcome, error.name)
            for value in send.values
        ]
        columns = payload.checksums_of(self._carried(send))
        return Completion(outcome, records, error.name, str(error), broken, columns)

    # --- transactions ---------------------------------------------------------------------------

    async def _join(self, identity: Identity, place: Place) -> None:
        """Add each partition to the transaction once (AddPartitionsToTxn). Raise Refused."""
        if place in identity.joined:
            return
        struct = request_definition(ApiKey.ADD_PARTITIONS_TO_TXN).struct
        topic = struct("AddPartitionsToTxnTopic", name=place[0], partitions=[place[1]])

        async def attempt() -> str | None:
            answer = await self._ask_coordinator(
                ApiKey.ADD_PARTITIONS_TO_TXN,
                v3_and_below_transactional_id=self._settings.transactional_id,
                v3_and_below_producer_id=identity.producer_id,
                v3_and_below_producer_epoch=identity.epoch,
                v3_and_below_topics=[topic],
            )
            found = answer.results_by_topic_v3_and_below[0].results_by_partition[0]
            code = found.partition_error_code
            return kafka_name(code) if code else None

        await insist(self._world, self._settings.delivery_timeout_ms / 1000, attempt)
        identity.joined.add(place)

    async def _end(self, identity: Identity, commits: bool) -> Completion:
        """Send EndTxn, unless no partition has joined the transaction, so that there is nothing to
        end."""
        if not identity.joined and not identity.groups:
            return Completion(Outcome.OK)
        identity.joined, identity.groups = set(), set()

        async def attempt() -> str | None:
            answer = await self._ask_coordinator(
                ApiKey.END_TXN,
                transactional_id=self._settings.transactional_id,
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
                committed=commits,
            )
            return kafka_name(answer.error_code) if answer.error_code else None

        try:
            await insist(self._world, END_TIMEOUT_S, attempt)
        except Refused as error:
            outcome = end_outcome(error.name, single_attempt=error.attempts == 1)
            return Completion(outcome, (), error.name, str(error), broken=True)
        return Completion(Outcome.OK)

    async def _commit_as_former(self, _: CommitAsFormer) -> Completion:
        """Send EndTxn(commit) as the fenced producer, for the transaction that its successor's
        InitProducerId has aborted."""
        if self._former is None:
            return Completion(Outcome.FAIL, (), "_STATE", "no older producer was fenced")
        former, self._former = self._former, None
        completion = await self._end(former, commits=True)
        return Completion(completion.outcome, (), completion.error, completion.detail)

    async def _rejoin_as_former(self, _: RejoinAsFormer) -> Completion:
        """Send InitProducerId as the fenced producer. Send it only once, so that the time of the
        attempt is known. The fenced producer keeps its id and epoch."""
        if self._former is None:
            return Completion(Outcome.FAIL, (), "_STATE", "no older producer was fenced")
        try:
            answer = await self._ask_coordinator(
                ApiKey.INIT_PRODUCER_ID,
                transactional_id=self._settings.transactional_id,
                transaction_timeout_ms=self._settings.transaction_timeout_ms,
                producer_id=self._former.producer_id,
                producer_epoch=self._former.epoch,
            )
        except WireError as error:
            return Completion(Outcome.INFO, (), type(error).__name__, str(error))
        if answer.error_code:
            return Completion(Outcome.FAIL, (), kafka_name(answer.error_code))
        row = init_producer_row(
            self._world.monotonic_ns(), self._settings, answer.producer_id, answer.producer_epoch
        )
        asked = {"asked": "epoch", "asked_offset": self._former.epoch}
        return Completion(Outcome.OK, more_rows=({**row, **asked},))

    async def _send_old_marker(self, marker: SendOldMarker) -> Completion:
        if self._former is None:
            return Completion(Outcome.FAIL, (), "_STATE", "no older producer was fenced")
        struct = request_definition(ApiKey.WRITE_TXN_MARKERS).struct
        place = struct(
            "WritableTxnMarkerTopic", name=marker.topic, partition_indexes=[marker.partition]
        )
        abort = struct(
            "WritableTxnMarker",
            producer_id=self._former.producer_id,
            producer_epoch=self._former.epoch,
            transaction_result=False,
            topics=[place],
        )
        try:
            leader = await self._cluster.leader(marker.topic, marker.partition)
            answer = await self._cluster.ask(
                leader.address, ApiKey.WRITE_TXN_MARKERS, markers=[abort]
            )
        except WireError as error:
            return Completion(Outcome.INFO, (), type(error).__name__, str(error))
        code = answer.markers[0].topics[0].partitions[0].error_code
        return Completion(Outcome.FAIL, (), kafka_name(code)) if code else Completion(Outcome.OK)

    async def _send_offsets(self, send: SendOffsets) -> Completion:
        """Send AddOffsetsToTxn, then TxnOffsetCommit to the group's coordinator.

        The superseded producer leaves out the first, which its coordinator would refuse.
        """
        identity = self._former if send.as_former else self._known()
        if identity is None:
            return Completion(Outcome.FAIL, (), "_STATE", "nobody was superseded")
        shared: dict[str, Any] = {
            "transactional_id": self._settings.transactional_id,
            "group_id": send.group,
            "producer_id": identity.producer_id,
            "producer_epoch": identity.epoch,
        }
        columns = {"producer_id": identity.producer_id, "producer_epoch": identity.epoch}

        async def join() -> str | None:
            answer = await self._ask_coordinator(ApiKey.ADD_OFFSETS_TO_TXN, **shared)
            return kafka_name(answer.error_code) if answer.error_code else None

        try:
            if send.group not in identity.groups and not send.as_former:
                await insist(self._world, INIT_TIMEOUT_S, join)
                identity.groups.add(send.group)
        except Refused as error:
            return Completion(
                Outcome.FAIL, (), error.name, str(error), broken=True, columns=columns
            )
        try:
            await insist(self._world, INIT_TIMEOUT_S, lambda: self._commit_offsets(send, shared))
        except Refused as error:
            outcome = send_outcome(error.name, single_attempt=error.attempts == 1)
            if error.name in REFUSED and error.attempts == 1:
                outcome = Outcome.FAIL
            return Completion(outcome, (), error.name, str(error), columns=columns)
        return Completion(Outcome.OK, columns=columns)

    async def _commit_offsets(self, send: SendOffsets, shared: dict[str, Any]) -> str | None:
        struct = request_definition(ApiKey.TXN_OFFSET_COMMIT).struct
        partitions = [
            struct("TxnOffsetCommitRequestPartition", partition_index=p, committed_offset=offset)
            for p, offset in send.offsets
        ]
        topic = struct("TxnOffsetCommitRequestTopic", name=send.topic, partitions=partitions)
        member = (
            {}
            if send.member is None
            else {
                "member_id": send.member.member_id,
                "generation_id": send.member.generation,
                "group_instance_id": send.member.instance_id,
            }
        )
        answer = await self._cluster.ask(
            await self._coordinator(send.group, GROUP),
            ApiKey.TXN_OFFSET_COMMIT,
            **shared,
            **member,
            topics=[topic],
        )
        codes = {each.error_code for each in answer.topics[0].partitions} - {0}
        return kafka_name(min(codes)) if codes else None

    async def close(self) -> None:
        self._cluster.close()
