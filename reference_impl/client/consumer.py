"""The consumer: `step(event)` returns the effects for its host, in order.

Source: KafkaConsumer.java. As in the producer, each step ends with `_run`, which continues
everything that can continue now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from reference_impl.client import calls
from reference_impl.client.cluster.coordinators import Coordinators
from reference_impl.client.cluster.metadata import Metadata
from reference_impl.client.config import consumer_config
from reference_impl.client.errors import ClientError, IllegalState
from reference_impl.client.group.classic.membership import ClassicMembership
from reference_impl.client.group.consumer.membership import ConsumerMembership
from reference_impl.client.group.member import GroupMember
from reference_impl.client.group.offsets import GroupOffsets
from reference_impl.client.group.subscription import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    Mode,
    Subscription,
)
from reference_impl.client.kernel import Chance
from reference_impl.client.machine import Machine
from reference_impl.client.reading.fetcher import Fetcher
from reference_impl.client.reading.positions import Positions
from reference_impl.client.reading.truncation import Truncation
from reference_impl.client.rules import CORRECT, ClientRules
from reference_impl.client.values import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition

MEMBERSHIPS: dict[str, type[ClassicMembership] | type[ConsumerMembership]] = {
    "classic": ClassicMembership,
    "consumer": ConsumerMembership,
}
"""`group.protocol` -> the class of the membership."""


@dataclass(slots=True)
class PollCall:
    """The poll that is waiting for its answer."""

    call_id: int
    max_records: int
    deadline_ms: int


class Consumer(Machine):
    """The state machine of one consumer: its host passes events to `step` and performs the effects
    that come back. Raise ConfigError for a configuration that cannot be used."""

    noun = "consumer"
    time_limit = "default.api.timeout.ms"
    unbounded = (calls.Poll, calls.Close)
    part_of_closing = (calls.ChangeHandled, calls.Commit)

    def __init__(
        self, config: Mapping[str, Any], chance: Chance, rules: ClientRules = CORRECT
    ) -> None:
        super().__init__(consumer_config(config), chance, rules)
        self._metadata = Metadata(
            self._kernel,
            self._network,
            self._config,
            allow_auto_topic_creation=self._config["allow.auto.create.topics"],
        )
        self._subscription = Subscription(rules)
        self._membership: GroupMember | None = None
        offsets: GroupOffsets | None = None
        if self._config["group.id"] is not None:
            protocol = MEMBERSHIPS[self._config["group.protocol"]]
            self._membership = protocol(
                self._kernel,
                self._network,
                self._metadata,
                self._config,
                self._subscription,
                Coordinators(self._kernel, self._network, self._config),
            )
            self._metadata.on_update(self._membership.metadata_changed)
            offsets = self._membership.offsets
        self._positions = Positions(
            self._kernel, self._network, self._metadata, self._config, self._subscription, offsets
        )
        self._fetcher = Fetcher(
            self._kernel,
            self._network,
            self._metadata,
            self._config,
            self._subscription,
            self._positions,
        )
        self._truncation = Truncation(
            self._network, self._metadata, self._subscription, self._positions
        )
        self._poll_call: PollCall | None = None
        self._position_calls: dict[int, TopicPartition] = {}
        self._partition_calls: dict[int, str] = {}
        self._commit_due_ms = 0
        self._performers = {
            calls.Subscribe: self._subscribe,
            calls.SubscribePattern: self._subscribe_pattern,
            calls.ChangeHandled: self._change_handled,
            calls.Assign: self._assign,
            calls.Unsubscribe: self._unsubscribe,
            calls.Poll: self._poll,
            calls.Commit: self._commit,
            calls.Committed: self._committed,
            calls.Seek: self._seek,
            calls.SeekToBeginning: lambda i, c: self._reset(i, c.partitions, EARLIEST_TIMESTAMP),
            calls.SeekToEnd: lambda i, c: self._reset(i, c.partitions, LATEST_TIMESTAMP),
            calls.Pause: lambda i, c: self._pause(i, c.partitions, True),
            calls.Resume: lambda i, c: self._pause(i, c.partitions, False),
            calls.Position: self._position,
            calls.OffsetsForTimes: lambda i, c: self._positions.ask_times(i, c.times),
            calls.PartitionsFor: self._partitions_for,
            calls.Close: self._close,
        }

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        """The partitions that this consumer holds, including those that are paused."""
        return tuple(self._subscription.partitions)

    @property
    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The next offset of each partition whose position is known."""
        return self._subscription.positions()

    @property
    def group_metadata(self) -> ConsumerGroupMetadata:
        """The identity of this consumer in the group, for SendOffsetsToTransaction. Raise
        IllegalState without group.id."""
        return self._need_group().group_metadata()

    # --- calls --------------------------------------------------------------------------------

    def _need_group(self) -> GroupMember:
        if self._membership is None:
            raise IllegalState("this needs the configuration group.id")
        return self._membership

    def _subscribe(self, call_id: int, call: calls.Subscribe) -> None:
        membership = self._need_group()
        self._subscription.subscribe(call.topics, is_listening=call.is_listening)
        self._metadata.want_only(sorted(call.topics))
        membership.subscribed()
        self._kernel.complete(call_id)

    def _subscribe_pattern(self, call_id: int, call: calls.SubscribePattern) -> None:
        membership = self._need_group()
        if self._config["group.protocol"] != "consumer":
            raise IllegalState("the broker evaluates a pattern: it needs group.protocol=consumer")
        self._subscription.subscribe(
            frozenset(), is_listening=call.is_listening, pattern=call.pattern
        )
        membership.subscribed()
        self._kernel.complete(call_id)

    def _change_handled(self, call_id: int, _: calls.ChangeHandled) -> None:
        self._need_group().change_handled()
        self._kernel.complete(call_id)

    def _assign(self, call_id: int, call: calls.Assign) -> None:
        self._subscription.assign(call.partitions)
        self._metadata.want_only(sorted(self._subscription.topics))
        self._kernel.complete(call_id)

    def _unsubscribe(self, call_id: int, _: calls.Unsubscribe) -> None:
        def left() -> None:
            self._subscription.clear()
            self._kernel.complete(call_id)

        self._leave(left)

    def _leave(self, then: Callable[[], None]) -> None:
        if self._membership is not None and self._subscription.mode is Mode.GROUP:
            self._membership.leave(then)
        elif self._membership is not None and self._config["enable.auto.commit"]:
            positions = self._subscription.positions()
            self._membership.offsets.commit(positions, lambda _: then())
        else:
            then()

    def _poll(self, call_id: int, call: calls.Poll) -> None:
        if self._poll_call is not None and self._kernel.is_open(self._poll_call.call_id):
            raise IllegalState("another poll is in progress: await it first")
        if self._subscription.mode is Mode.NOBODY:
            raise IllegalState("nothing is read: subscribe or assign first")
        if self._membership is not None:
            self._membership.poll_begins()
            self._commit_if_due(self._membership)
        self._poll_call = PollCall(
            call_id,
            call.max_records or self._config["max.poll.records"],
            self._kernel.monotonic_ms + call.timeout_ms,
        )
        self._kernel.after(call.timeout_ms, ("poll ends",), lambda: None)

    def _commit_if_due(self, membership: GroupMember) -> None:
        """Commit the positions if `enable.auto.commit` is due and no partition is changing hands,
        and do not wait. By polling again, the application shows that it is done with the records of
        earlier polls."""
        if not self._config["enable.auto.commit"] or not membership.may_read:
            return
        if self._kernel.monotonic_ms >= self._commit_due_ms:
            self._commit_due_ms = (
                self._kernel.monotonic_ms + self._config["auto.commit.interval.ms"]
            )
            membership.offsets.commit(self._subscription.positions(), lambda _: None)

    def _commit(self, call_id: int, call: calls.Commit) -> None:
        positions = self._subscription.positions()
        offsets = dict(positions if call.offsets is None else call.offsets)

        def done(error: ClientError | None) -> None:
            if error is None:
                self._kernel.complete(call_id, offsets)
            else:
                self._kernel.fail(call_id, error)

        membership = self._need_group()
        if offsets and self._subscription.mode is Mode.GROUP and not membership.is_member:
            # If the group is empty, the coordinator would accept it as a commit without a member.
            raise ClientError(
                "COMMIT_FAILED", "this consumer is not a member of the group: poll to join it"
            )
        membership.offsets.commit(offsets, done)

    def _committed(self, call_id: int, call: calls.Committed) -> None:
        self._need_group().offsets.fetch(
            sorted(call.partitions),
            lambda offsets: self._kernel.complete(call_id, offsets),
            lambda error: self._kernel.fail(call_id, error),
        )

    def _seek(self, call_id: int, call: calls.Seek) -> None:
        if call.offset < 0:
            raise IllegalState(f"offset {call.offset} is negative; it must be at least 0")
        self._positions.seek(call.partition, call.offset, call.leader_epoch)
        self._kernel.complete(call_id)

    def _reset(
        self, call_id: int, partitions: Collection[TopicPartition], timestamp_ms: int
    ) -> None:
        for partition in partitions or self._subscription.partitions:
            self._subscription.state(partition).reset(timestamp_ms)
        self._kernel.complete(call_id)

    def _pause(self, call_id: int, partitions: Collection[TopicPartition], is_paused: bool) -> None:
        for partition in partitions:
            self._subscription.state(partition).is_paused = is_paused
        self._kernel.complete(call_id)

    def _position(self, call_id: int, call: calls.Position) -> None:
        self._subscription.state(call.partition)
        self._position_calls[call_id] = call.partition

    def _partitions_for(self, call_id: int, call: calls.PartitionsFor) -> None:
        self._metadata.want(call.topic)
        self._partition_calls[call_id] = call.topic

    def _close(self, call_id: int, call: calls.Close) -> None:
        self._closing = call_id
        self._kernel.after(call.timeout_ms, ("close",), self._closed)
        self._leave(self._closed)

    def _closed(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._kernel.cancel_all()
        if self._closing is not None:
            self._kernel.complete(self._closing)
        self._kernel.fail_all(ClientError("CONSUMER_CLOSED", "the consumer was closed meanwhile"))

    # --- what may go on now -------------------------------------------------------------------

    def _run(self) -> None:
        is_polling = self._poll_call is not None
        if self._membership is not None and self._closing is None:
            self._membership.run(is_polling)
        if self._closing is None:
            # Look positions up only when needed: the application may seek after it assigns.
            self._positions.run(is_wanted=is_polling or bool(self._position_calls))
        if self._poll_call is not None:
            self._go_on_polling(self._poll_call)
        if self._closing is None:
            self._truncation.run()
            self._fetcher.run()
        self._answer_calls()

    def _go_on_polling(self, poll: PollCall) -> None:
        error = self._take_error()
        if error is not None:
            self._kernel.fail(poll.call_id, error)
        elif self._membership is None or self._membership.may_read:
            records = self._fetcher.take(poll.max_records)
            if records:
                self._kernel.complete(poll.call_id, records)
        if self._kernel.monotonic_ms >= poll.deadline_ms:
            self._kernel.complete(poll.call_id, [])
        if not self._kernel.is_open(poll.call_id):
            self._poll_call = None
            self._kernel.cancel(("poll ends",))
            if self._membership is not None:
                self._membership.poll_ends()

    def _take_error(self) -> ClientError | None:
        """Return the error that occurred since the last poll, or None. Return a lasting error every
        time, any other once."""
        for topic in self._subscription.topics:
            refusal = self._metadata.refusal(topic, f"reading topic {topic}")
            if refusal is not None:
                return refusal
        if self._membership is not None and self._membership.error is not None:
            return self._membership.take_error()
        for part in (self._positions, self._fetcher):
            if part.error is not None:
                error, part.error = part.error, None
                return error
        return None

    def _refusal_of_position(self, partition: TopicPartition) -> ClientError | None:
        """Return the error that explains why this position cannot be found, and forget it unless it
        is lasting. Return None if there is none yet."""
        refusal = self._metadata.refusal(partition.topic, f"asking for the position in {partition}")
        if refusal is not None:
            return refusal
        error, self._positions.error = self._positions.error, None
        return error

    def _answer_calls(self) -> None:
        for call_id, partition in list(self._position_calls.items()):
            state = self._subscription.partitions.get(partition)
            if state is None:
                error = IllegalState(f"{partition} is not assigned to this consumer any more")
                self._kernel.fail(call_id, error)
            elif state.position is not None:
                self._kernel.complete(call_id, state.position)
            elif (refusal := self._refusal_of_position(partition)) is not None:
                self._kernel.fail(call_id, refusal)
            if not self._kernel.is_open(call_id):
                del self._position_calls[call_id]
        for call_id, name in list(self._partition_calls.items()):
            refusal = self._metadata.refusal(name, f"asking for topic {name}")
            if refusal is not None:
                self._kernel.fail(call_id, refusal)
            elif self._metadata.partitions(name):
                self._kernel.complete(call_id, self._metadata.partitions(name))
            if not self._kernel.is_open(call_id):
                del self._partition_calls[call_id]
