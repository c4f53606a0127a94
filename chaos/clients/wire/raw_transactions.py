"""The requests by which the raw producer takes part in transactions, and those that it sends as a
fenced producer, after its own successor has begun.

It uses the protocol of clients before KIP-890: partitions join a transaction by AddPartitionsToTxn,
and an epoch lasts until the next InitProducerId. Sources: KIP-98; KIP-447 (offsets of a group).
"""

from __future__ import annotations

from typing import Any

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
from chaos.record.outcomes import end_outcome, send_outcome
from chaos.values.operations import CommitAsFormer, RejoinAsFormer, SendOffsets, SendOldMarker
from chaos.values.protocols import Completion, Outcome
from reference_impl.wire import ApiKey, request_definition

END_TIMEOUT_S = 20.0


class TransactionalProducer(IdentifiedProducer):
    """Sends the requests that join and end transactions, and forbidden ones under a fenced
    epoch."""

    async def _join(self, identity: Identity, place: Place) -> None:
        """Add the partition to the transaction, unless it has joined already (AddPartitionsToTxn).
        Raise Refused if the coordinator returns an error that no retry changes, or if the time is
        up."""
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
        """Send EndTxn for the transaction of this identity, and forget its partitions and groups.
        Return OK without a request if none has joined, so that there is nothing to end."""
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
        InitProducerId has aborted, and forget that producer. Return FAIL if no producer was
        fenced."""
        if self._former is None:
            return Completion(Outcome.FAIL, (), "_STATE", "no older producer was fenced")
        former, self._former = self._former, None
        completion = await self._end(former, commits=True)
        return Completion(completion.outcome, (), completion.error, completion.detail)

    async def _rejoin_as_former(self, _: RejoinAsFormer) -> Completion:
        """Send InitProducerId as the fenced producer, only once, so that the time of the attempt is
        known. The fenced producer keeps its id and epoch. Return OK if the coordinator accepts it,
        FAIL if it refuses or no producer was fenced, INFO without an answer."""
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
        """Send AddOffsetsToTxn, then TxnOffsetCommit to the group's coordinator. Return FAIL if the
        first is refused, or if the send is to use the former producer and none was fenced.

        A fenced producer leaves out the first, which its coordinator would refuse.
        """
        identity = self._former if send.as_former else self._known()
        if identity is None:
            return Completion(Outcome.FAIL, (), "_STATE", "no older producer was fenced")
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
