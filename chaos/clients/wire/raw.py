"""The raw reader: it reads whole partitions by Fetch requests of our own codec, with batch headers
and control records: first from the leader, then from each follower, so that replicas can be
compared.

As long as nobody writes, a follower may know only an old high watermark (docs/findings.md), and
returns only records below it. If its high watermark stays behind its leader's, the reader bypasses
it, but never reads beyond the leader's: below that, the log of every in-sync replica must have the
same records.

Sources: FetchRequest.json, FetchResponse.json, ListOffsetsRequest.json; KIP-98 (control records);
KIP-392 (a follower answers a consumer, up to the high watermark that it knows); FetchIsolation.of,
FetchParams.fetchOnlyLeader (a fetch by a node's own future replica is answered by followers, too,
and up to the log's end).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chaos.clients.wire.partition_read import PartitionRead
from chaos.clients.wire.trial import Trial
from chaos.clients.wire.wire_link import (
    CONSUMER,
    EARLIEST,
    FUTURE_REPLICA,
    LATEST,
    READ_COMMITTED,
    Leader,
    WireCluster,
    check,
    fetch_fields,
)
from chaos.means.connection import WireError
from chaos.values.operations import AskEnds, TryRead
from chaos.values.protocols import ClientSettings, Completion, Operation, Outcome, ReadAll
from chaos.world import World
from reference_impl.wire import ApiKey, ErrorCode, Malformed, Struct

READ_TIMEOUT_S = 60.0
"""The limit in seconds for reading all partitions. A partition whose turn comes later still gets
SHARE_S seconds, so that one that cannot be read does not leave the others unread."""
SHARE_S = 3.0
LATE_S = 5.0
"""The seconds to wait for followers to learn their leaders' high watermarks. They learn it with the
response to their next fetch, which takes replica.fetch.wait.max.ms (half a second) at most."""
RETRY_S = 0.3
FETCH_BYTES = 4 << 20
NO_OFFSET = -1


class RawClient:
    """The client that reads by Fetch. `perform` takes ReadAll(raw=True) and TryRead only, for the
    final phase; an Operator calls its other methods."""

    name = "raw"

    def __init__(
        self,
        world: World,
        bootstrap: str,
        nonce: bytes,
        timeout_s: float = READ_TIMEOUT_S,
        share_s: float = SHARE_S,
        late_s: float = LATE_S,
    ) -> None:
        self._world = world
        self._cluster = WireCluster(world, bootstrap)
        self._trial = Trial(world, bootstrap)
        self._nonce = nonce
        self._timeout_s, self._share_s, self._late_s = timeout_s, share_s, late_s

    async def perform(self, operation: Operation) -> Completion:
        if isinstance(operation, TryRead):
            return await self._trial.perform(operation)
        if not isinstance(operation, ReadAll):
            raise TypeError(f"the raw client reads whole partitions only, not {operation}")
        reads = [PartitionRead(topic, partition) for topic, partition in operation.partitions]
        await self._read_all(reads)
        followers = await self._of_followers(reads)
        await self._read_all(followers)
        reads += followers
        records = [record for read in reads for record in read.rows()]
        unread = [read for read in reads if not read.complete]
        if unread:
            detail = f"not read to the end: {', '.join(read.name for read in unread)}"
            return Completion(Outcome.INFO, records, unread[-1].error, detail)
        late = "; ".join(read.late for read in reads if read.late)
        return Completion(Outcome.OK, records, detail=late or None)

    async def read_latest(self, topic: str, partition: int) -> Completion:
        """Read the last record below the high watermark once; return no record if nothing was
        written, and FAIL if it cannot be read or no record has that offset. A new leader answers no
        high watermark until it knows it (KIP-207), so the record is the last acknowledged one, or a
        later one that was not yet acknowledged."""
        try:
            leader = await self._cluster.leader(topic, partition)
            end = await self._cluster.offset(leader, topic, partition, LATEST)
            if end == 0:
                return Completion(Outcome.OK)
            read = PartitionRead(topic, partition, next_offset=end - 1)
            read.take(await self._fetch(leader, read), self._nonce)
        except (WireError, Malformed) as error:
            return Completion(Outcome.FAIL, (), type(error).__name__, str(error))
        last = [record for record in read.records if record.offset == end - 1]
        if not last:
            why = f"{read.name}: there is no record at offset {end - 1}"
            return Completion(Outcome.FAIL, (), "_NO_RECORD", why)
        return Completion(Outcome.OK, last)

    async def fetch_below(
        self, leader: Leader, topic: str, partition: int, log_start: int
    ) -> dict[str, Any]:
        """Fetch the offset just below a log start that this leader has just answered. Return
        `asked_offset`, and in `asked` whether the fetch was answered or refused with
        OFFSET_OUT_OF_RANGE. Return an empty dict if the log start is 0, if the fetch got another
        error, or if the leader's log begins lower by now, because it was restarted without its last
        log start."""
        if log_start == 0:
            return {}
        read = PartitionRead(topic, partition, next_offset=log_start - 1)
        try:
            row = await self._row(leader, read, wait_ms=0)
        except WireError:
            return {}
        was_answered = row.error_code == 0 and row.log_start_offset >= log_start
        if not was_answered and row.error_code != ErrorCode.OFFSET_OUT_OF_RANGE:
            return {}
        told = "answered" if was_answered else "refused"
        return {"asked": told, "asked_offset": log_start - 1}

    async def ask_ends(self, ask: AskEnds) -> Completion:
        """Ask the leader once for the log start, the high watermark and the last stable offset: in
        one request, or in separate ones. With separate ones, also ask for the end of the leader's
        epoch as a bound of the high watermark. Return the three as columns, or FAIL without them if
        a request fails."""
        place = ask.topic, ask.partition
        try:
            leader = await self._cluster.leader(*place)
            told: dict[str, Any] = {"client": self.name, "leader_epoch": leader.epoch}
            told["node"] = leader.node
            end = await self._cluster.offset(leader, *place, LATEST)
            if ask.looks_up:
                # A consumer takes for truncated what lies behind the end of its epoch (KIP-320).
                known = await self._cluster.end_of_epoch(leader, *place)
                end = end if known == NO_OFFSET else min(end, known)
                start = await self._cluster.offset(leader, *place, EARLIEST)
                stable = await self._cluster.offset(leader, *place, LATEST, READ_COMMITTED)
            else:
                read = PartitionRead(*place, next_offset=end)
                answer = await self._fetch(leader, read, wait_ms=0)
                start, end = answer.log_start_offset, answer.high_watermark
                stable = answer.last_stable_offset
        except WireError as error:
            return Completion(Outcome.FAIL, (), type(error).__name__, str(error))
        ends = {"log_start": start, "high_watermark": end, "last_stable_offset": stable}
        return Completion(Outcome.OK, columns=told | ends)

    async def _of_followers(self, reads: Sequence[PartitionRead]) -> list[PartitionRead]:
        """Return one new read for each follower of every partition whose leader was read
        completely. If the metadata cannot be fetched, mark the leaders' reads as incomplete."""
        followers = []
        whole = [read for read in reads if read.complete]
        try:
            view = await self._cluster.view(sorted({read.topic for read in whole}))
            for read in whole:
                state = view.state(read.topic, read.partition)
                followers += [PartitionRead(read.topic, read.partition, n) for n in state.followers]
        except WireError as error:
            # Without metadata it is not known whether all replicas of any partition were read.
            for read in whole:
                read.complete, read.error, read.detail = False, type(error).__name__, str(error)
        return followers

    async def _read_all(self, reads: Sequence[PartitionRead]) -> None:
        began = self._world.monotonic()
        for read in reads:
            deadline = max(began + self._timeout_s, self._world.monotonic() + self._share_s)
            await self._read_until(read, deadline, began + self._late_s)

    async def _read_until(self, read: PartitionRead, deadline: float, late_at: float) -> None:
        """Read one partition to its end, from its start again after every error. At the deadline,
        give up and leave the last error in `read`. late_at: the time after which a follower counts
        as late."""
        while not read.complete:
            try:
                await self._read_once(read, deadline, late_at)
            except (WireError, Malformed) as error:
                read.error, read.detail = type(error).__name__, str(error)
                if self._world.monotonic() > deadline:
                    return
                await self._world.sleep(RETRY_S)
        read.error = read.detail = None

    async def _read_once(self, read: PartitionRead, deadline: float, late_at: float) -> None:
        leader = await self._cluster.leader(read.topic, read.partition)
        asked = (
            leader if read.replica is None else await self._cluster.follower(leader, read.replica)
        )
        # Read from the start even after a failure: halves of two leaders' logs need not fit.
        read.records.clear()
        read.size_bytes = 0
        read.late = None
        read.leader_epoch = leader.epoch
        begun_at = await self._cluster.offset(leader, read.topic, read.partition, EARLIEST)
        read.begun_at = read.log_start = read.next_offset = begun_at
        # A new leader's high watermark may lag, and a fetch would then seem to reach the end;
        # ListOffsets refuses to answer until it has caught up (KIP-207, "Proposed Changes").
        end = await self._cluster.offset(leader, read.topic, read.partition, LATEST)
        if read.replica is not None and not await self._has(asked, read, begun_at):
            start = await self._start_of(asked, read, begun_at, end)
            begun_at = read.begun_at = read.log_start = read.next_offset = start
        while not read.complete:
            if self._world.monotonic() > deadline:
                raise WireError(
                    f"{read.name}: the time of the final read was over at offset"
                    f" {read.next_offset}, before the end at {end}"
                )
            answer = await self._fetch(asked, read, FUTURE_REPLICA if read.late else CONSUMER)
            if read.late:
                # Such a fetch reads up to the leader's high watermark, and its answer names no last
                # stable offset.
                read.high_watermark, read.last_stable_offset = end, None
            else:
                read.high_watermark = answer.high_watermark
                read.last_stable_offset = answer.last_stable_offset
            start = answer.log_start_offset
            if 0 <= start < begun_at:
                read.log_start = start
                if read.replica is not None and await self._has(asked, read, start):
                    # The leader has just deleted records that this follower still has.
                    begun_at = read.begun_at = read.next_offset = start
                    continue
            read.take(answer, self._nonce)
            read.complete = read.next_offset >= max(end, read.high_watermark)
            # A long log takes many answers, so time alone does not show that a follower is late.
            is_behind = read.late is not None or read.high_watermark < end
            is_late = read.replica is not None and is_behind and self._world.monotonic() > late_at
            if is_late and not read.complete:
                await self._read_on(read, end)

    async def _start_of(self, asked: Leader, read: PartitionRead, low: int, end: int) -> int:
        """Return the first offset that a follower has. It is above the leader's log start, `low`,
        if the follower led before and deleted records, and was cut off before the others heard of
        that (ReplicaManager.deleteRecords). It answers no ListOffsets, so bisect. Raise WireError
        if it does not have the leader's `end` either."""
        high = end
        if not await self._has(asked, read, high):
            raise WireError(f"Fetch {read.name}: its log has neither offset {low} nor {end}")
        while high - low > 1:
            middle = (low + high) // 2
            if await self._has(asked, read, middle):
                high = middle
            else:
                low = middle
        return high

    async def _has(self, asked: Leader, read: PartitionRead, offset: int) -> bool:
        """Return whether a replica's log contains this offset or ends at it. Raise WireError if the
        replica returns another error."""
        found = await self._row(asked, replace(read, next_offset=offset), wait_ms=0)
        if found.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return False
        check(found.error_code, f"Fetch {read.name}")
        return True

    async def _read_on(self, read: PartitionRead, end: int) -> None:
        """Prepare to read a follower's log up to the leader's high watermark `end`: note on the
        read that the follower's own high watermark stayed lower. Raise WireError if the follower is
        not in sync, since its log may still be truncated there."""
        state = (await self._cluster.view([read.topic])).state(read.topic, read.partition)
        if read.replica not in state.isr:
            raise WireError(f"{read.name}: it is not in sync")
        read.late = read.late or (
            f"{read.name}: its high watermark stayed at {read.high_watermark}, its leader's is"
            f" {end}; its log was read up to {end}"
        )

    async def _fetch(
        self, asked: Leader, read: PartitionRead, reader: int = CONSUMER, wait_ms: int = 100
    ) -> Struct:
        found = await self._row(asked, read, reader, wait_ms)
        check(found.error_code, f"Fetch {read.name}")
        return found

    async def _row(
        self, asked: Leader, read: PartitionRead, reader: int = CONSUMER, wait_ms: int = 100
    ) -> Struct:
        """Fetch once, and return the partition's row of the answer; its error code may be set.
        reader: the replica id to name, CONSUMER or FUTURE_REPLICA."""
        wanted = [(read.partition, asked.epoch, read.next_offset)]
        fields = fetch_fields(read.topic, wanted, FETCH_BYTES, reader, wait_ms)
        answer = await self._cluster.ask(asked.address, ApiKey.FETCH, **fields)
        check(answer.error_code, f"Fetch {read.name}")
        return answer.responses[0].partitions[0]  # type: ignore[no-any-return]

    async def close(self) -> None:
        self._cluster.close()
        self._trial.close()


class RawFactory:
    """Makes raw clients for one run."""

    def __init__(self, world: World, nonce: bytes) -> None:
        self._world = world
        self._nonce = nonce

    def __call__(self, bootstrap: str, process: int, settings: ClientSettings) -> RawClient:
        return RawClient(self._world, bootstrap, self._nonce, READ_TIMEOUT_S)
