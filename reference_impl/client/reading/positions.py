"""Find the position at which reading begins: the committed offset, or that of `auto.offset.reset`.
Also look up offsets by time.

Source: OffsetFetcher.java, OffsetsRequestManager.java; ListOffsetsRequest.json; KIP-79 (offsets by
time), KIP-207 (OFFSET_NOT_AVAILABLE).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from reference_impl.client.cluster.metadata import Metadata
from reference_impl.client.cluster.network import Network, Node
from reference_impl.client.config import Config
from reference_impl.client.errors import STALE_METADATA, ClientError, Refusal, is_retriable
from reference_impl.client.group.offsets import GroupOffsets
from reference_impl.client.group.subscription import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    PartitionState,
    Subscription,
)
from reference_impl.client.kernel import Kernel
from reference_impl.client.values import (
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
    by_topic,
)
from reference_impl.links.kernel import Backoff
from reference_impl.links.link import Failure
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

CONSUMER_REPLICA_ID = -1
Found = Callable[[TopicPartition, OffsetAndTimestamp | None], None]


@dataclass(slots=True)
class TimesCall:
    """A call of OffsetsForTimes, which is answered when all its partitions are."""

    times: dict[TopicPartition, int]
    found: dict[TopicPartition, OffsetAndTimestamp | None] = field(default_factory=dict)
    asking: set[TopicPartition] = field(default_factory=set)
    not_before_ms: int = 0


class Positions:
    """Finds a position for every partition that has none, and answers the calls of
    OffsetsForTimes."""

    def __init__(
        self,
        kernel: Kernel,
        network: Network,
        metadata: Metadata,
        config: Config,
        subscription: Subscription,
        offsets: GroupOffsets | None,
    ) -> None:
        self._kernel = kernel
        self._network = network
        self._metadata = metadata
        self._subscription = subscription
        self._offsets = offsets
        self._is_read_committed = config["isolation.level"] == "read_committed"
        self._request_timeout_ms: int = config["request.timeout.ms"]
        self._reset_to: int | None = {
            "earliest": EARLIEST_TIMESTAMP,
            "latest": LATEST_TIMESTAMP,
            "none": None,
        }[config["auto.offset.reset"]]
        self._backoff = Backoff(kernel, config["retry.backoff.ms"], config["retry.backoff.max.ms"])
        self._calls: dict[int, TimesCall] = {}
        self.error: ClientError | None = None
        """The error that the next poll must raise."""

    # --- positions ----------------------------------------------------------------------------

    def run(self, *, is_wanted: bool) -> None:
        """Look up the missing positions if a caller needs them, unless a look-up is in progress,
        and continue the calls of OffsetsForTimes."""
        if is_wanted:
            self._look_up()
        self._run_calls()

    def _look_up(self) -> None:
        unknown = [each for each, state in self._missing().items() if state.reset_to is None]
        if unknown and self._offsets is not None:
            self._look_up_committed(self._offsets, unknown)
        elif unknown:
            self._begin(dict.fromkeys(unknown))
        missing = self._missing()
        resets = {each: state for each, state in missing.items() if state.reset_to is not None}
        if resets:
            self._reset(resets)

    def _missing(self) -> dict[TopicPartition, PartitionState]:
        """Return the partitions without a position for which no request is in flight, except those
        that failed a moment ago and must wait."""
        missing = {}
        for partition, state in self._subscription.partitions.items():
            if state.position is not None or state.is_looked_up:
                continue
            if not self.must_wait(partition, state):
                missing[partition] = state
        return missing

    def must_wait(self, partition: TopicPartition, state: PartitionState) -> bool:
        """Return whether the partition failed a moment ago, so that it must wait; a timer then
        wakes the consumer when the time is over."""
        wait_ms = state.not_before_ms - self._kernel.monotonic_ms
        if wait_ms > 0:
            self._kernel.after(wait_ms, ("position", *partition), lambda: None)
        return wait_ms > 0

    def seek(self, partition: TopicPartition, offset: int, leader_epoch: int) -> None:
        """Continue at this offset, under a leader that is not older than this epoch. Raise
        IllegalState if the partition is not assigned."""
        self._subscription.state(partition).seek(offset, leader_epoch)
        self._metadata.saw_epoch(partition, leader_epoch)

    def out_of_range(self, partition: TopicPartition, offset: int) -> None:
        """Handle an offset that the leader does not have, because of retention or a truncation:
        reset the position as `auto.offset.reset` says, or leave an error for the next poll if it is
        none."""
        if self._reset_to is None:
            self.error = ClientError(
                "OFFSET_OUT_OF_RANGE",
                f"{partition} has no offset {offset}, and auto.offset.reset=none: seek to another",
            )
            self.wait(partition)
        else:
            self._subscription.state(partition).reset(self._reset_to)

    def truncated(
        self, partition: TopicPartition, position: int, end_offset: int, leader_epoch: int
    ) -> None:
        """Handle a log that differs from what we have read, from `end_offset` on (-1: unknown). Go
        back to that offset, or as `auto.offset.reset` says if it is unknown. If that is none, only
        leave an error for the next poll."""
        if self._reset_to is None:
            self.error = ClientError(
                "LOG_TRUNCATION",
                f"{partition} was truncated below our position {position}"
                f"{f', to {end_offset}' if end_offset >= 0 else ''}, and"
                " auto.offset.reset=none: seek to the offset to continue at",
            )
            self.wait(partition)
        elif end_offset >= 0:
            self._subscription.state(partition).seek(end_offset, leader_epoch)
        else:
            self._subscription.state(partition).reset(self._reset_to)

    def _look_up_committed(self, offsets: GroupOffsets, unknown: list[TopicPartition]) -> None:
        states = {partition: self._subscription.state(partition) for partition in unknown}
        for state in states.values():
            state.is_looked_up = True

        def is_current(partition: TopicPartition) -> bool:
            states[partition].is_looked_up = False
            # A partition that was given up and came back must ask again: others may have read on.
            return self._subscription.partitions.get(partition) is states[partition]

        def found(committed: dict[TopicPartition, OffsetAndMetadata]) -> None:
            self._begin({each: committed.get(each) for each in unknown if is_current(each)})

        def failed(error: ClientError) -> None:
            self.error = error
            for partition in filter(is_current, unknown):
                self.wait(partition)

        offsets.fetch(unknown, found, failed)

    def _begin(self, committed: Mapping[TopicPartition, OffsetAndMetadata | None]) -> None:
        """Begin at the committed offset or, without one, where `auto.offset.reset` says. If that is
        none, leave an error for the next poll."""
        for partition, offset in committed.items():
            state = self._subscription.partitions.get(partition)
            if state is None or state.position is not None or state.reset_to is not None:
                continue  # revoked, or moved by a seek, meanwhile
            if offset is not None:
                self.seek(partition, offset.offset, offset.leader_epoch)
            elif self._reset_to is not None:
                state.reset(self._reset_to)
            else:
                self.error = ClientError(
                    "NO_OFFSET_FOR_PARTITION",
                    f"{partition} has no committed offset, and auto.offset.reset=none: seek first",
                )
                self.wait(partition)

    def _reset(self, states: dict[TopicPartition, PartitionState]) -> None:
        """Ask the leaders for the offsets of the timestamps to which positions were reset."""
        times = {
            each: state.reset_to for each, state in states.items() if state.reset_to is not None
        }
        for state in states.values():
            state.is_looked_up = True

        def found(partition: TopicPartition, offset: OffsetAndTimestamp | None) -> None:
            state = states[partition]
            state.is_looked_up = False
            if state.reset_to == times[partition] and offset is not None:  # no seek meanwhile
                state.seek(offset.offset, offset.leader_epoch)
                self._metadata.saw_epoch(partition, offset.leader_epoch)

        def not_found(partition: TopicPartition, error: ClientError | None) -> None:
            states[partition].is_looked_up = False
            self.error = error or self.error
            self.wait(partition)

        self._ask_leaders(times, found, not_found)

    def wait(self, partition: TopicPartition) -> None:
        """Do not look up a partition again for about `retry.backoff.ms`."""
        state = self._subscription.partitions.get(partition)
        if state is not None:
            state.not_before_ms = self._kernel.monotonic_ms + self._backoff.delay_ms(0)

    # --- offsets by time ----------------------------------------------------------------------

    def ask_times(self, call_id: int, times: Mapping[TopicPartition, int]) -> None:
        """Handle OffsetsForTimes: look up the offsets, and answer when all partitions have
        answered."""
        self._metadata.want(*{partition.topic for partition in times})
        self._calls[call_id] = TimesCall(dict(times))

    def _run_calls(self) -> None:
        for call_id, call in list(self._calls.items()):
            if not self._kernel.is_open(call_id):
                del self._calls[call_id]
            elif len(call.found) == len(call.times):
                del self._calls[call_id]
                self._kernel.complete(call_id, call.found)
            elif refusal := self._refusal(call):
                self._kernel.fail(call_id, refusal)
            elif self._kernel.monotonic_ms >= call.not_before_ms:
                self._run_call(call_id, call)

    def _refusal(self, call: TimesCall) -> ClientError | None:
        for topic, _ in call.times:
            refusal = self._metadata.refusal(topic, f"asking for offsets of topic {topic}")
            if refusal is not None:
                return refusal
        return None

    def _run_call(self, call_id: int, call: TimesCall) -> None:
        def found(partition: TopicPartition, offset: OffsetAndTimestamp | None) -> None:
            call.asking.discard(partition)
            call.found[partition] = offset

        def not_found(partition: TopicPartition, error: ClientError | None) -> None:
            call.asking.discard(partition)
            if error is not None:
                self._kernel.fail(call_id, error)
                return
            delay_ms = self._backoff.delay_ms(0)
            call.not_before_ms = self._kernel.monotonic_ms + delay_ms
            self._kernel.after(delay_ms, ("times", call_id), lambda: None)

        missing = {
            partition: time_ms
            for partition, time_ms in call.times.items()
            if partition not in call.found and partition not in call.asking
        }
        call.asking.update(missing)
        self._ask_leaders(missing, found, not_found)

    # --- asking -------------------------------------------------------------------------------

    def _ask_leaders(
        self,
        times: Mapping[TopicPartition, int],
        found: Found,
        not_found: Callable[[TopicPartition, ClientError | None], None],
    ) -> None:
        """Ask the leader of each partition; `not_found` without an error means that the caller
        should ask again."""
        by_node: dict[int, tuple[Node, dict[TopicPartition, tuple[int, int]]]] = {}
        for partition, time_ms in times.items():
            leader = self._metadata.leader(partition)
            if leader is None:
                self._metadata.refresh()
                not_found(partition, None)
                continue
            node, epoch = leader
            by_node.setdefault(node.id, (node, {}))[1][partition] = (time_ms, epoch)
        for node, asked in by_node.values():
            self._ask(node, asked, found, not_found)

    def _ask(
        self,
        node: Node,
        asked: dict[TopicPartition, tuple[int, int]],
        found: Found,
        not_found: Callable[[TopicPartition, ClientError | None], None],
    ) -> None:
        of = request_definition(ApiKey.LIST_OFFSETS)

        def partition(key: TopicPartition) -> Struct:
            timestamp_ms, epoch = asked[key]
            return of.struct(
                "ListOffsetsPartition",
                partition_index=key.partition,
                current_leader_epoch=epoch,
                timestamp=timestamp_ms,
            )

        topics = [
            of.struct(
                "ListOffsetsTopic",
                name=topic,
                partitions=[partition(TopicPartition(topic, index)) for index in indexes],
            )
            for topic, indexes in by_topic(asked).items()
        ]
        body = of.new(
            replica_id=CONSUMER_REPLICA_ID,
            isolation_level=int(self._is_read_committed),
            topics=topics,
            timeout_ms=self._request_timeout_ms,
        )

        def answered(answer: Struct) -> None:
            for topic in answer.topics:
                for row in topic.partitions:
                    self._judge(
                        TopicPartition(topic.name, row.partition_index), row, found, not_found
                    )

        def failed(failure: Failure) -> None:
            self._metadata.refresh()
            error = ClientError("UNSUPPORTED_VERSION", failure.reason)
            for each in asked:
                not_found(each, error if failure.is_unsupported else None)

        self._network.ask(node, ApiKey.LIST_OFFSETS, body, answered, failed)

    def _judge(
        self,
        partition: TopicPartition,
        row: Struct,
        found: Found,
        not_found: Callable[[TopicPartition, ClientError | None], None],
    ) -> None:
        code = row.error_code
        if code == ErrorCode.NONE:
            known = row.offset >= 0  # -1: no record is as late as this time
            offset = OffsetAndTimestamp(row.offset, row.timestamp, row.leader_epoch)
            found(partition, offset if known else None)
            return
        if code in STALE_METADATA:
            self._metadata.refresh()
        doing = f"asking for offsets of {partition}"
        not_found(partition, None if is_retriable(code) else Refusal(code, doing))
