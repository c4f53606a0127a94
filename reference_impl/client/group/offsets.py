"""Offsets of a group: committed to and fetched from its coordinator.

Source: OffsetCommitRequest.json, OffsetFetchRequest.json; KIP-447 (only stable offsets: a
transaction under way may still change them); ConsumerCoordinator.java; KIP-848 and
CommitRequestManager.java (member epochs, where the classic protocol has generations).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from reference_impl.client.cluster.coordinators import Coordinators, KeyType
from reference_impl.client.config import Config
from reference_impl.client.errors import (
    COORDINATOR_MOVED,
    ClientError,
    Refusal,
    TimedOut,
    is_retriable,
)
from reference_impl.client.group.requests import positions
from reference_impl.client.kernel import Kernel
from reference_impl.client.values import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    TopicPartition,
    by_topic,
)
from reference_impl.links.kernel import Backoff
from reference_impl.links.link import Failure
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

VERSION_WITH_TOPIC_NAMES = 9
"""The last version of both APIs with topic names. Later ones use only topic ids (KIP-848), while
here a name is always known."""

OTHER_EPOCH = frozenset({ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID})
"""Errors that mean that the member's epoch (KIP-848) differs from the coordinator's. A heartbeat
will tell the current one."""

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
OnFetched = Callable[[dict[TopicPartition, OffsetAndMetadata]], None]
OnFailed = Callable[[ClientError], None]


class GroupOffsets:
    """Commits and fetches the offsets of one group at its coordinator, and repeats requests if
    necessary."""

    def __init__(
        self,
        kernel: Kernel,
        config: Config,
        coordinators: Coordinators,
        member: Callable[[], ConsumerGroupMetadata],
        evicted: Callable[[int], None],
    ) -> None:
        self._kernel = kernel
        self._coordinators = coordinators
        self._member = member
        self._evicted = evicted
        """The function to call after an answer that denies this consumer's membership."""
        self._has_epochs = config["group.protocol"] == "consumer"
        self._key = (KeyType.GROUP, config["group.id"])
        self._timeout_ms: int = config["default.api.timeout.ms"]
        self._backoff = Backoff(kernel, config["retry.backoff.ms"], config["retry.backoff.max.ms"])
        self._retries = 0

    def commit(
        self,
        offsets: Offsets,
        on_done: Callable[[ClientError | None], None],
        *,
        follows_epoch: bool = False,
    ) -> None:
        """Commit the offsets, repeatedly if necessary until `default.api.timeout.ms`, and call
        `on_done` once with the error or None. Without offsets, send nothing and call it now.

        follows_epoch: whether the partitions remain this member's until the commit is done, so that
        a member with an old epoch (KIP-848) repeats it with the next one. Otherwise an old epoch is
        an error, since another member may have continued reading.
        """
        if not offsets:
            on_done(None)
            return
        member = self._member()

        def body() -> Struct:
            return request_definition(ApiKey.OFFSET_COMMIT).new(
                group_id=member.group_id,
                generation_id_or_member_epoch=member.generation_id,
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                topics=positions(ApiKey.OFFSET_COMMIT, offsets),
            )

        def answered(answer: Struct) -> int:
            nonlocal member
            codes = [row.error_code for topic in answer.topics for row in topic.partitions]
            code = self._kernel.rules.commit_error(codes)
            if not code or is_passing(code):
                if not code:
                    on_done(None)
                return code
            now = self._member()
            is_old_epoch = code == ErrorCode.STALE_MEMBER_EPOCH
            if is_old_epoch and follows_epoch and now.member_id == member.member_id:
                member = now
                return code
            if member == now:  # else it is about an earlier membership
                self._evicted(code)
            on_done(Refusal(code, "committing offsets"))
            return 0

        self._ask(ApiKey.OFFSET_COMMIT, body, answered, on_done)

    def fetch(
        self, partitions: Collection[TopicPartition], on_fetched: OnFetched, on_failed: OnFailed
    ) -> None:
        """Fetch the committed offsets of these partitions. Call `on_fetched` with them, without
        partitions that have none, or `on_failed` with the error."""
        of = request_definition(ApiKey.OFFSET_FETCH)
        topics = by_topic(partitions)
        group_id = self._key[1]

        def body() -> Struct:
            rows = [
                of.struct("OffsetFetchRequestTopics", name=topic, partition_indexes=indexes)
                for topic, indexes in topics.items()
            ]
            return of.new(
                group_id=group_id,
                topics=[
                    of.struct("OffsetFetchRequestTopic", name=topic, partition_indexes=indexes)
                    for topic, indexes in topics.items()
                ],
                groups=[
                    of.struct(
                        "OffsetFetchRequestGroup", group_id=group_id, topics=rows, **self._asker()
                    )
                ],
                require_stable=True,
            )

        def answered(answer: Struct) -> int:
            # [New in v8: KIP-709] One row per group; older versions answer in the message itself.
            group = answer.groups[0] if answer.groups else answer
            codes = [row.error_code for topic in group.topics for row in topic.partitions]
            code = group.error_code or next((code for code in codes if code), 0)
            if not code:
                on_fetched(
                    {
                        TopicPartition(topic.name, row.partition_index): OffsetAndMetadata(
                            offset, row.metadata or "", row.committed_leader_epoch
                        )
                        for topic in group.topics
                        for row in topic.partitions
                        if (offset := self._kernel.rules.committed_at(row)) >= 0
                    }
                )
            elif not is_passing(code) and not (self._has_epochs and code in OTHER_EPOCH):
                on_failed(Refusal(code, "fetching committed offsets"))
                return 0
            return int(code)

        self._ask(ApiKey.OFFSET_FETCH, body, answered, on_failed)

    def _asker(self) -> dict[str, object]:
        """Return our member id and epoch as fields of OffsetFetch, so that the coordinator refuses
        a member that missed an epoch and must not begin at old offsets. Return no fields in a
        classic group, or while we are no member."""
        # [New in v9: KIP-848]
        member = self._member()
        if not self._has_epochs or not member.member_id:
            return {}
        return {"member_id": member.member_id, "member_epoch": member.generation_id}

    def _ask(
        self,
        api_key: ApiKey,
        body: Callable[[], Struct],
        on_answer: Callable[[Struct], int],
        on_failed: OnFailed,
    ) -> None:
        """Send the request until there is an answer, or call `on_failed` once
        `default.api.timeout.ms` has passed. on_answer: returns the error code for which to repeat
        the request, or 0."""
        deadline_ms = self._kernel.monotonic_ms + self._timeout_ms
        failures = 0

        def again(why: str) -> None:
            nonlocal failures
            delay_ms = self._backoff.delay_ms(failures)
            failures += 1
            if self._kernel.monotonic_ms + delay_ms >= deadline_ms:
                on_failed(TimedOut(f"{api_key.name}: not done in time: {why}"))
                return
            self._retries += 1
            self._kernel.after(delay_ms, ("group offsets", self._retries), ask)

        def answered(answer: Struct) -> None:
            code = on_answer(answer)
            if code in COORDINATOR_MOVED:
                self._coordinators.forget(self._key)
            if code:
                again(Refusal(code, "the coordinator answers").name)

        def failed(failure: Failure) -> None:
            if failure.is_unsupported:
                on_failed(ClientError("UNSUPPORTED_VERSION", failure.reason))
                return
            again(failure.reason)

        def ask() -> None:
            self._coordinators.ask(
                self._key,
                api_key,
                body(),
                answered,
                failed,
                on_failed,
                version_max=VERSION_WITH_TOPIC_NAMES,
            )

        ask()


def is_passing(code: int) -> bool:
    """Return whether it makes sense to repeat the request, at this coordinator or at another."""
    return code in COORDINATOR_MOVED or is_retriable(code)
