"""Try to read one partition, and find out whether the node that does not let us read it answers
other requests.

A final read that fails shows only that some client waited in vain. A loaded machine may be why. The
answers of one node to two requests at the same time show more.

Sources: FetchRequest.json, ListOffsetsRequest.json, MetadataResponse.json; KIP-74 (the first
partition of a fetch that has records gets a batch, however large).
"""

from __future__ import annotations

from typing import Any

from chaos.clients.wire.wire_link import (
    EARLIEST,
    LATEST,
    Leader,
    View,
    WireCluster,
    check,
    fetch_fields,
)
from chaos.means.connection import WireError
from chaos.values.operations import TryRead
from chaos.values.protocols import Completion, Outcome
from chaos.world import World
from reference_impl.wire import ApiKey, CorruptRecord, Struct, batches

FETCH_BYTES = 64 << 10
GOES_ON_S = 20.0
"""The seconds after which a try that gets records again and again counts as a success."""
ANSWERED, SILENT = "answered", "silent"


class Trial:
    """Performs TryRead over our own codec, and the second request over a connection of its own."""

    def __init__(self, world: World, bootstrap: str) -> None:
        self._world = world
        self._cluster = WireCluster(world, bootstrap)
        self._other = WireCluster(world, bootstrap)

    async def perform(self, operation: TryRead) -> Completion:
        """Read the partition on from the operation's offset. Return OK if its end was reached, or
        if it still went on after GOES_ON_S; FAIL for an error, or a fetch without records; INFO for
        no answer. The columns tell what the leader did with another request right after that
        (`asked`; without a leader, what a node did that was asked for it)."""
        try:
            view = await self._cluster.view([operation.topic])
        except WireError as error:
            return _failed(error, {"asked": SILENT, "asked_offset": operation.offset})
        leader = _leader_in(view, operation)
        if isinstance(leader, Completion):
            return leader
        told: dict[str, Any] = {"node": leader.node, "leader_epoch": leader.epoch}
        told["asked_offset"] = operation.offset
        try:
            problem = await self._read(leader, operation, view, told)
        except WireError as error:
            told["asked"] = await self._second_answer(leader)
            return _failed(error, told)
        except CorruptRecord as error:
            return Completion(Outcome.FAIL, (), "_CORRUPT", str(error), columns=told)
        if problem is None:
            return Completion(Outcome.OK, columns=told)
        told["asked"] = await self._second_answer(leader)
        return Completion(Outcome.FAIL, (), "_NO_RECORDS", problem, columns=told)

    async def _read(
        self, leader: Leader, operation: TryRead, view: View, told: dict[str, Any]
    ) -> str | None:
        """Read the partition, and keep the offset reached in `told`. Return None at the end, or
        after GOES_ON_S, and a sentence if a fetch below the high watermark has no records."""
        place = operation.topic, operation.partition
        started = self._world.monotonic()
        if operation.offset is None:
            told["asked_offset"] = await self._cluster.offset(leader, *place, EARLIEST)
        end = await self._cluster.offset(leader, *place, LATEST)
        while told["asked_offset"] < end and self._world.monotonic() - started < GOES_ON_S:
            answer = await self._fetch(leader, operation, view, told["asked_offset"])
            told["high_watermark"] = answer.high_watermark
            ends = [
                header.base_offset + header.last_offset_delta + 1
                for header, _, _ in batches(bytes(answer.records or b""))
            ]
            if not ends and told["asked_offset"] < answer.high_watermark:
                return (
                    f"a fetch of offset {told['asked_offset']} has no records, and its high"
                    f" watermark is {answer.high_watermark}"
                )
            told["asked_offset"] = max([told["asked_offset"], *ends])
            if told["asked_offset"] >= answer.high_watermark:
                return None
        return None

    async def _fetch(self, leader: Leader, operation: TryRead, view: View, offset: int) -> Struct:
        """Fetch the partition and, behind it in the same request, the others of its topic that its
        leader leads, from their beginnings. Return the partition's part of the answer. Raise
        WireError for no answer or an error."""
        others = [
            (number, state.leader_epoch, 0)
            for (topic, number), state in view.partitions.items()
            if (topic, state.leader) == (operation.topic, leader.node)
            and number != operation.partition
        ]
        wanted = [(operation.partition, leader.epoch, offset), *others]
        fields = fetch_fields(operation.topic, wanted, FETCH_BYTES)
        answer = await self._cluster.ask(leader.address, ApiKey.FETCH, **fields)
        what = f"Fetch {operation.topic}-{operation.partition}"
        check(answer.error_code, what)
        for topic in answer.responses:
            for found in topic.partitions:
                if found.partition_index == operation.partition:
                    check(found.error_code, what)
                    return found  # type: ignore[no-any-return]
        raise WireError(f"{what}: the answer lacks the partition")

    async def _second_answer(self, leader: Leader) -> str:
        """Return whether the node answers a Metadata request that names no topic."""
        try:
            await self._other.view([], leader.address)
        except WireError:
            return SILENT
        return ANSWERED

    def close(self) -> None:
        self._cluster.close()
        self._other.close()


def _leader_in(view: View, operation: TryRead) -> Leader | Completion:
    """Return the partition's leader in the view, or how a try ends without one: with
    LEADER_NOT_AVAILABLE although a replica that is in sync lives, with _NO_LIVE_REPLICA, or with
    _NOT_IN_METADATA."""
    state = view.partitions.get((operation.topic, operation.partition))
    if state is not None and state.leader in view.brokers:
        return Leader(view.brokers[state.leader], state.leader_epoch, state.leader)
    told = {"asked": ANSWERED, "asked_offset": operation.offset}
    if state is None:
        return Completion(Outcome.FAIL, (), "_NOT_IN_METADATA", columns=told)
    told["leader_epoch"] = state.leader_epoch
    living = (set(state.isr) & view.brokers.keys()) - set(state.offline)
    if not living:
        return Completion(Outcome.FAIL, (), "_NO_LIVE_REPLICA", columns=told)
    which = f"no leader, though replicas {sorted(living)} live and are in sync"
    return Completion(Outcome.FAIL, (), "LEADER_NOT_AVAILABLE", which, columns=told)


def _failed(error: WireError, told: dict[str, Any]) -> Completion:
    """Return how a try ended that was answered with an error (FAIL), or not at all (INFO)."""
    if error.answered is not None:
        return Completion(Outcome.FAIL, (), error.answered, str(error), columns=told)
    return Completion(Outcome.INFO, (), "_NO_ANSWER", str(error), columns=told)
