"""Members of consumer groups by confluent-kafka: subscribe, poll, commit, leave, crash.

librdkafka changes the assignment during a poll. Our poll ends at the change, so that all its
records belong to one session, with one member id and one generation (or member epoch, KIP-848).

We store a position when we take its record. librdkafka would store it as soon as the record leaves
its queue, even if an error then keeps the record out of the history. Sources: librdkafka
INTRODUCTION.md (consumer groups, at-least-once); KIP-429, KIP-848.
"""

from __future__ import annotations

import struct
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from chaos.clients.confluent.config import member_config, name_of
from chaos.clients.confluent.reader import record_of
from chaos.clients.membership_rows import MembershipRows, group_settings
from chaos.clients.whole_partitions import together
from chaos.record.outcomes import read_outcome
from chaos.values.protocols import (
    ClientSettings,
    CommitOffsets,
    Completion,
    Crash,
    GroupProtocol,
    GroupSettings,
    Leave,
    Outcome,
    Poll,
    Record,
    Subscribe,
)
from chaos.world import World
from linearizability.history import F

MORE_RECORDS_S = 0.05
COMMITTED_TIMEOUT_S = 5.0
COOPERATIVE = "cooperative-sticky"
_METADATA_MAGIC = b"CGMDv2:"
_GENERATION = struct.Struct("=i")  # rd_kafka_consumer_group_metadata_write: the host's byte order


class ConfluentMember:
    """Acts as a member of one group for one process of a workload; each Subscribe begins a new
    membership, after a crash of the one before."""

    def __init__(
        self,
        world: World,
        bootstrap: str,
        settings: ClientSettings,
        group: GroupSettings,
        nonce: bytes,
    ) -> None:
        self._config = member_config(bootstrap, settings.isolation.value, group)
        self._nonce = nonce
        self._group = group.name
        self._consumer: Consumer | None = None
        self._settings = group_settings(group)
        self._is_incremental = (
            group.protocol is GroupProtocol.CONSUMER or group.assignor == COOPERATIVE
        )
        self._rebalanced = False
        self._rows = MembershipRows(world, self._settings)
        self._held: Message | None = None
        """A record that arrived after a change of the assignment, while a poll held records of the
        old one; the next poll delivers it."""
        self._positions: dict[tuple[str, int], TopicPartition] = {}
        """Partition -> the offset after the last record taken and that record's leader epoch, for
        the partitions that this member owns."""
        self._firsts: dict[tuple[str, int], int] = {}
        """Partition -> the offset of the first record taken in the transaction, to which `rewind`
        goes back."""
        self._was_revoked = False
        """Whether partitions read in the transaction now belong to another member."""

    # --- operations -----------------------------------------------------------------------------

    def subscribe(self, subscribe: Subscribe) -> Completion:
        self.crash(Crash())  # a process is one member at a time
        self._consumer = Consumer(self._config)
        self._consumer.subscribe(
            list(subscribe.topics),
            on_assign=self._on_assigned,
            on_revoke=self._on_revoked,
            on_lost=self._on_revoked,
        )
        return Completion(Outcome.OK, columns=self._settings)

    def poll(self, poll: Poll) -> Completion:
        """Poll records of one assignment. Return a completion whose `rebalanced` says whether the
        assignment differs from that of the last poll. Return FAIL without a subscription. An error
        that comes after records is returned by the next poll."""
        if self._consumer is None:
            return Completion(Outcome.FAIL, (), "_STATE", "there is no subscription")
        consumer, deadline = self._consumer, time.monotonic() + poll.timeout_s
        rebalanced, self._rebalanced = self._rebalanced, False
        told = self._rows.take()
        identity = _identity(consumer)
        records: list[Record] = []
        message, self._held = self._held, None
        while True:
            if message is not None and message.error() is not None:
                if not records:
                    failed = self._failed_poll(consumer, message.error(), rebalanced)
                    return replace(failed, more_rows=told)
                self._held = message  # the next poll reports the error
                break
            if message is not None:
                if not records:
                    identity = _identity(consumer)  # the member may have joined during this poll
                records.append(self._taken(consumer, message))
            left_s = MORE_RECORDS_S if records else deadline - time.monotonic()
            if left_s <= 0 or len(records) >= poll.max_records:
                break
            message = consumer.poll(left_s)
            if self._rebalanced and records:
                self._held = message
                break  # return the records of the old assignment alone
            rebalanced, self._rebalanced = rebalanced or self._rebalanced, False
            told += self._rows.take()
            if message is None and (records or time.monotonic() >= deadline):
                break
        if not self._rebalanced:
            identity = _identity(consumer)
        return Completion(
            Outcome.OK, records, columns=identity, rebalanced=rebalanced, more_rows=told
        )

    def _failed_poll(
        self, consumer: Consumer, error: KafkaError | None, rebalanced: bool
    ) -> Completion:
        assert error is not None
        name = name_of(error)
        # Compare the code, too: the error by which a poll reports a fatal error is not fatal().
        broken = error.fatal() or error.code() == KafkaError._FATAL
        return Completion(
            read_outcome(name),
            (),
            name,
            error.str(),
            broken,
            columns=_identity(consumer),
            rebalanced=rebalanced,
        )

    def _taken(self, consumer: Consumer, message: Message) -> Record:
        record = record_of(message, self._nonce)
        assert record.offset is not None
        place = record.topic, record.partition
        self._positions[place] = TopicPartition(
            *place, record.offset + 1, leader_epoch=message.leader_epoch()
        )
        self._firsts.setdefault(place, record.offset)
        with suppress(KafkaException):  # revoked meanwhile: the new owner reads it again
            consumer.store_offsets(message=message)
        return record

    def commit(self, _: CommitOffsets) -> Completion:
        """Commit the positions after the records polled since the last commit, and wait. Return OK
        without a request if there are none. An error leaves the outcome open (INFO), since an
        earlier attempt may have succeeded; the positions are then dropped, too."""
        consumer, positions = self._consumer, self._positions
        if consumer is None or not positions:
            return Completion(Outcome.OK)
        self._positions = {}
        identity = _identity(consumer)
        asked = list(positions.values())
        try:
            answers = consumer.commit(offsets=asked, asynchronous=False) or []
        except KafkaException as raised:
            error: KafkaError = raised.args[0]
            name = name_of(error)
            records = [_committed(each, name) for each in asked]
            return Completion(
                Outcome.INFO, records, name, error.str(), error.fatal(), columns=identity
            )
        records = [
            _committed(each, name_of(each.error) if each.error else None) for each in answers
        ]
        if _identity(consumer) != identity:
            identity["generation"] = None  # committed in this generation or in the next
        failed = next((record.error for record in records if record.error), None)
        return Completion(together(records), records, failed, columns=identity)

    # --- within a transaction -------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a transaction; records received from here on belong to it."""
        self._positions, self._firsts, self._was_revoked = {}, {}, False

    def offset_rows(self) -> list[dict[str, Any]]:
        """Return the history rows of the positions which a commit would add to the transaction.
        Return no rows if a partition was revoked, or without positions or a subscription."""
        if self._was_revoked or self._consumer is None or not self._positions:
            return []
        shared = {"f": F.SEND_OFFSETS.value, "group": self._group, **_identity(self._consumer)}
        return [
            {**shared, "topic": each.topic, "partition": each.partition, "offset": each.offset}
            for each in self._positions.values()
        ]

    def add_offsets_to(self, producer: Producer, timeout_s: float) -> str | None:
        """Put the member's positions, if there are any, into the producer's transaction (KIP-447).
        Return None, or the reason for not doing it: a partition was revoked, whose offset would
        overwrite the new owner's, or the membership has ended. Raise KafkaException, for example if
        the coordinator no longer knows the member."""
        if self._was_revoked or self._consumer is None:
            return (
                "during the transaction a partition of the member was revoked, or its membership"
                " ended"
            )
        if self._positions:
            metadata = self._consumer.consumer_group_metadata()
            offsets = list(self._positions.values())
            producer.send_offsets_to_transaction(offsets, metadata, timeout_s)
        return None

    def rewind(self) -> None:
        """Seek to the first record of each partition that the aborted transaction has read, so that
        the next polls read them again, in a new session of the history. Then begin as for a new
        transaction."""
        message, self._held = self._held, None
        if message is not None and message.error() is None:
            first = record_of(message, self._nonce)
            assert first.offset is not None
            self._firsts.setdefault((first.topic, first.partition), first.offset)
        for (topic, partition), offset in self._firsts.items():
            if self._consumer is not None:
                with suppress(KafkaException):  # revoked: its new owner reads on
                    self._consumer.seek(TopicPartition(topic, partition, offset))
                    self._rows.sought((topic, partition), offset)
        self._rebalanced = self._rebalanced or bool(self._firsts)
        self.begin()

    # --- the end of a membership ----------------------------------------------------------------

    def leave(self, _: Leave) -> Completion:
        """Close the consumer, which leaves the group and, if commits are automatic, commits first.
        Return OK without a consumer, and INFO after an error."""
        consumer, self._consumer = self._consumer, None
        self._forget()
        if consumer is None:
            return Completion(Outcome.OK)
        identity = _identity(consumer)
        try:
            consumer.close()
        except KafkaException as raised:
            error: KafkaError = raised.args[0]
            return Completion(Outcome.INFO, (), name_of(error), error.str(), columns=identity)
        except SystemError as raised:
            # Seen of confluent-kafka 2.16.1 while a call of another thread hung (clients.bounded).
            return Completion(Outcome.INFO, (), "_SYSTEM", str(raised), columns=identity)
        return Completion(Outcome.OK, columns=identity)

    def crash(self, _: Crash) -> Completion:
        """Drop the consumer without LeaveGroup: the group notices when the session times out.

        A consumer that was not closed is destroyed with RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE when
        its last reference is dropped, so it neither commits nor leaves the group.
        """
        self._forget()
        self._consumer = None
        return Completion(Outcome.OK)

    def _forget(self) -> None:
        self._held = None
        self._rebalanced = False
        self._rows.clear()
        self._was_revoked = self._was_revoked or bool(self._positions)
        self._positions, self._firsts = {}, {}

    # --- what librdkafka says while it is polled ------------------------------------------------

    def _on_assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._rebalanced = True
        starts = self._begin(consumer, partitions)
        self._rows.assigned(starts, map(_place, partitions), _identity(consumer))

    def _begin(
        self, consumer: Consumer, partitions: list[TopicPartition]
    ) -> dict[tuple[str, int], int | None] | None:
        """Assign the partitions at the group's committed offsets, or at the log start where there
        is none. Return partition -> committed offset or None. Return None as a whole if the
        coordinator does not answer: confluent-kafka then assigns the partitions after the callback,
        and librdkafka asks where to begin."""
        try:
            found = consumer.committed(partitions, COMMITTED_TIMEOUT_S) if partitions else []
            if any(each.error for each in found):
                return None
            starts = {_place(each): each.offset if each.offset >= 0 else None for each in found}
            for each in found:
                if each.offset < 0:
                    each.offset = OFFSET_BEGINNING
            take = consumer.incremental_assign if self._is_incremental else consumer.assign
            take(found)  # with the leader epochs that were committed (KIP-320)
        except KafkaException:
            return None
        return starts

    def _on_revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._rebalanced = True
        self._rows.revoked(map(_place, partitions), _identity(consumer))
        for each in partitions:
            gone = self._positions.pop((each.topic, each.partition), None)
            self._firsts.pop((each.topic, each.partition), None)
            self._was_revoked = self._was_revoked or gone is not None


def _place(partition: TopicPartition) -> tuple[str, int]:
    return partition.topic, partition.partition


def _committed(position: TopicPartition, error: str | None) -> Record:
    outcome = Outcome.OK if error is None else Outcome.INFO
    return Record(position.topic, position.partition, None, position.offset, outcome, error)


def _identity(consumer: Consumer) -> dict[str, Any]:
    """Return the columns member_id and generation (under KIP-848 the member epoch), null before the
    member has joined. Leave out generation if librdkafka's metadata has an unknown form."""
    columns: dict[str, Any] = {"member_id": consumer.memberid() or None}
    metadata = consumer.consumer_group_metadata()
    if isinstance(metadata, bytes) and metadata.startswith(_METADATA_MAGIC):
        (generation,) = _GENERATION.unpack_from(metadata, len(_METADATA_MAGIC))
        columns["generation"] = generation if generation >= 0 else None
    return columns
