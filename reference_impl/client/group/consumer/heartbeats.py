"""The heartbeats of KIP-848: by this one request a member joins, stays, moves and leaves.

Source: ConsumerGroupHeartbeatRequest.json; KIP-848, ConsumerGroupHeartbeat API (a field that is
null has not changed); ConsumerHeartbeatRequestManager.java.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from reference_impl.client.cluster.coordinators import Coordinators, Key
from reference_impl.client.cluster.network import Network, Node
from reference_impl.client.config import Config
from reference_impl.client.errors import COORDINATOR_MOVED, ClientError, is_retriable
from reference_impl.client.kernel import Kernel
from reference_impl.client.values import ConsumerGroupMetadata
from reference_impl.links.effects import Lane
from reference_impl.links.kernel import Backoff
from reference_impl.links.link import Failure
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

HEARTBEAT = ("heartbeat",)
TOPIC_REGEX_SINCE = 1
"""The first version of ConsumerGroupHeartbeat with which a member can subscribe to a pattern."""

HELD, REGEX = "topic_partitions", "subscribed_topic_regex"
HeartbeatFields = Mapping[str, Any]
"""The member's own fields of a heartbeat. A field is not sent again while it is unchanged. The
owned partitions (HELD) are a set of (topic id, partition)."""


class ConsumerHeartbeats:
    """Sends heartbeats one at a time: at once when a field has changed, otherwise at the interval
    that the coordinator sets."""

    def __init__(
        self, kernel: Kernel, network: Network, config: Config, coordinators: Coordinators, key: Key
    ) -> None:
        self._kernel = kernel
        self._network = network
        self._coordinators = coordinators
        self._key = key
        self._backoff = Backoff(kernel, config["retry.backoff.ms"], config["retry.backoff.max.ms"])
        self._interval_ms = 0
        self._told: HeartbeatFields = {}
        """The fields that the coordinator has certainly received; empty once an answer was lost."""
        self._under_way: HeartbeatFields | None = None
        """The changed fields in the heartbeat that is in flight; None if none is in flight."""
        self._has_news = False
        self._series = 0
        """The number of the current series of heartbeats. Answers to an earlier series concern an
        earlier membership and are ignored."""

    def attach(
        self,
        identity: Callable[[], ConsumerGroupMetadata],
        heartbeat_fields: Callable[[], HeartbeatFields],
        on_answer: Callable[[Struct], None],
        on_refusal: Callable[[int, str], None],
        give_up: Callable[[ClientError], None],
    ) -> None:
        """Connect the heartbeats to the member that sends them. identity and heartbeat_fields
        return what the next heartbeat says. on_answer gets each answer without an error, on_refusal
        the code and message of an error that a retry does not mend, and give_up an error that ends
        the membership."""
        self._identity = identity
        self._heartbeat_fields = heartbeat_fields
        self._on_answer = on_answer
        self._on_refusal = on_refusal
        self._give_up = give_up

    def start(self) -> None:
        """Start a series with a heartbeat that names every field."""
        self.stop()
        self._beat()

    def stop(self) -> None:
        """Stop the series, because this consumer is no longer a member."""
        self._kernel.cancel(HEARTBEAT)
        self._series += 1
        self._told, self._under_way, self._has_news = {}, None, False

    def soon(self) -> None:
        """Send a heartbeat as soon as possible, because a field has changed."""
        if self._under_way is not None:
            self._has_news = True
        else:
            self._beat()

    def has_told(self, field: str, value: object) -> bool:
        """Return whether the coordinator has received this value of the field."""
        return self._told.get(field) == value

    def is_telling(self, field: str) -> bool:
        """Return whether the heartbeat in flight names this field."""
        return self._under_way is not None and field in self._under_way

    def leave(self, member: ConsumerGroupMetadata, then: Callable[[], None]) -> None:
        """Stop the series, send a heartbeat that leaves the group, for good or (a static member)
        for a while, and call `then` after the answer or a failure: if the request gets lost, the
        session times out. Without a known coordinator, send nothing."""
        self.stop()
        node = self._coordinators.known(self._key)
        if node is None:
            then()
            return
        self._network.ask(
            node,
            ApiKey.CONSUMER_GROUP_HEARTBEAT,
            heartbeat(member, {}),
            lambda _: then(),
            lambda _: then(),
            lane=Lane.COORDINATOR,
        )

    def _beat(self) -> None:
        """Find the coordinator, and only then build the heartbeat, so that its fields are current
        when it is sent."""
        self._kernel.cancel(HEARTBEAT)
        self._under_way = {}
        series = self._series

        def found(_: Node) -> None:
            if series == self._series:  # else we have left meanwhile, and must not join
                self._send()

        def not_found(error: ClientError) -> None:
            if series == self._series:
                self._give_up(error)

        self._coordinators.find(self._key, found, not_found)

    def _send(self) -> None:
        heartbeat_fields = dict(self._heartbeat_fields())
        news = {
            field: value
            for field, value in heartbeat_fields.items()
            if not self.has_told(field, value)
        }
        self._under_way, self._has_news = news, False
        series, sent_ms = self._series, self._kernel.monotonic_ms

        def answered(answer: Struct) -> None:
            if series != self._series:
                return
            self._under_way = None
            if answer.error_code != ErrorCode.NONE:
                self._refused(answer)
                return
            self._told = heartbeat_fields
            self._backoff.succeed()
            self._interval_ms = answer.heartbeat_interval_ms
            due_ms = sent_ms + (0 if self._has_news else self._interval_ms)
            self._beat_after(max(0, due_ms - self._kernel.monotonic_ms))
            self._on_answer(answer)

        def failed(failure: Failure) -> None:
            if series != self._series:
                return
            if failure.is_unsupported:
                self._give_up(ClientError("UNSUPPORTED_VERSION", failure.reason, fatal=True))
            else:
                self._say_everything_after(self._backoff.fail())

        self._coordinators.ask(
            self._key,
            ApiKey.CONSUMER_GROUP_HEARTBEAT,
            heartbeat(self._identity(), news),
            answered,
            failed,
            self._give_up,
            version_min=TOPIC_REGEX_SINCE if REGEX in news else 0,
        )

    def _beat_after(self, delay_ms: int) -> None:
        self._kernel.after(delay_ms, HEARTBEAT, self._beat)

    def _say_everything_after(self, delay_ms: int) -> None:
        """Send every field after this delay, because the coordinator may not have received the last
        heartbeat. Its answer then contains everything, too."""
        self._told, self._under_way = {}, None
        self._beat_after(delay_ms)

    def _refused(self, answer: Struct) -> None:
        code = answer.error_code
        is_passing = code in COORDINATOR_MOVED or is_retriable(code)
        if code in COORDINATOR_MOVED:
            self._coordinators.forget(self._key)
        delay_ms = self._backoff.fail()
        self._say_everything_after(delay_ms if is_passing else max(delay_ms, self._interval_ms))
        if not is_passing:
            self._on_refusal(code, answer.error_message or "")


def heartbeat(member: ConsumerGroupMetadata, news: HeartbeatFields) -> Struct:
    """Return one heartbeat of this member, with these changed fields."""
    of = request_definition(ApiKey.CONSUMER_GROUP_HEARTBEAT)
    told = dict(news)
    if HELD in told:
        indexes: dict[UUID, list[int]] = {}
        for topic_id, index in sorted(told[HELD]):
            indexes.setdefault(topic_id, []).append(index)
        told[HELD] = [
            of.struct("TopicPartitions", topic_id=topic_id, partitions=found)
            for topic_id, found in indexes.items()
        ]
    return of.new(
        group_id=member.group_id,
        member_id=member.member_id,
        member_epoch=member.generation_id,
        instance_id=member.group_instance_id,
        **told,
    )
