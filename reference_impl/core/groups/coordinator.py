"""The group coordinator of one partition of `__consumer_offsets`: the groups that it keeps.

Source: GroupCoordinatorService.java, GroupMetadataManager.java, OffsetMetadataManager.java. Changes
that must survive a restart are written to `__consumer_offsets` before the request is answered
(group_log.py). Groups are of two kinds: classic ones (classic/), one of whose members computes the
assignment, and consumer groups (consumer/), for which the broker does (KIP-848). This file finds
groups and writes what changes; state.py holds the state that results from the log, service.py finds
the coordinator of a group.

Not modelled: share and streams groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from reference_impl.core.effects import Effect, Report
from reference_impl.core.groups import group_log
from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.classic.states import Move
from reference_impl.core.groups.consumer.model import records
from reference_impl.core.groups.consumer.model.draft import Draft
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.records import KeyValue
from reference_impl.core.groups.group_log import GroupLog
from reference_impl.core.groups.offsets import CommittedOffset
from reference_impl.core.groups.settings import Shared
from reference_impl.core.groups.state import Group, GroupState
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.partitions.keyed_topic import KeyedTopic
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.core.waiting.waits import Pause
from reference_impl.wire import ErrorCode, Record

Committed = tuple[TopicPartition, CommittedOffset]
CommitsByGroup = dict[str, dict[TopicPartition, CommittedOffset]]


class GroupCoordinator(GroupState):
    """The groups of one partition of `__consumer_offsets`, and the only writer of their log, except
    for the markers of transactions: most changes are appended to it, then applied."""

    def __init__(self, topic: KeyedTopic, partition: Partition, shared: Shared) -> None:
        super().__init__(topic, partition, shared.rules)
        self.log = GroupLog(topic, self.partition)
        self.settings, self.access = shared.settings, shared.access
        self.image, self._moment = shared.image, shared.moment

    @property
    def now_ms(self) -> int:
        """The time of the current event, in milliseconds of the wall clock."""
        return self._moment.now_ms

    @property
    def metadata_version(self) -> int:
        """The version of the metadata: the end offset of the log from which the image was made."""
        return self.image.end_offset

    @property
    def newest_topic_version(self) -> int:
        """The metadata version in which topics were last created. A result of pattern matching that
        is not older is still right."""
        return self.image.newest_topic_offset

    def random_uuid(self) -> UUID:
        """Return a random UUID, for member ids."""
        return self._moment.random_uuid()

    # --- to the log ---------------------------------------------------------------------------

    def save_group(self, group: ClassicGroup) -> None:
        """Append the group's current state to the log. Raise Refused if the log does not take
        it."""
        self.log.append([group_log.group_record(group)])

    def try_to_save(self, group: ClassicGroup) -> Iterator[Effect]:
        """Append the group's current state to the log, when no client waits for the result. If that
        fails, only report it to the operator."""
        try:
            self.save_group(group)
        except Refused as refused:
            yield Report(f"group {group.group_id} could not be saved: {refused}")

    def write(self, draft: Draft) -> Iterator[Effect]:
        """Append a change of a consumer group to the log, then apply it. Raise Refused if the
        append fails."""
        self.log.append(draft.records)
        self.groups[draft.group.group_id] = draft.group
        yield from draft.consequences()

    def commit(
        self, group_id: str, commits: Sequence[Committed], records: Sequence[Record]
    ) -> None:
        """Append offsets to the log, then apply them, and create an empty group for them if there
        is none. `records` are the encoded `commits`. Raise Refused if the append fails."""
        first = self.rules.write_commits(self.log, group_id, records, None)
        for log_offset, (key, row) in enumerate(commits, first):
            commit = replace(row, log_offset=log_offset)
            known = self.offsets.of(group_id).get(key)
            self.offsets.put(group_id, key, self.rules.newer_commit(known, commit))
        if commits:
            self.groups.setdefault(group_id, ClassicGroup(group_id))

    def commit_in_transaction(
        self,
        group_id: str,
        commits: Sequence[Committed],
        records: Sequence[Record],
        producer_id: int,
        producer_epoch: int,
    ) -> None:
        """Append offsets that count once their transaction commits. Raise Refused if the producer
        is fenced, or the log does not take them."""
        self.rules.check_offset_writer(self.partition(), producer_id, producer_epoch)
        writer = producer_id, producer_epoch
        first = self.rules.write_commits(self.log, group_id, records, writer)
        self.note_pending(
            producer_id,
            [
                (group_id, key, replace(row, log_offset=log_offset))
                for log_offset, (key, row) in enumerate(commits, first)
            ],
        )

    def delete_offsets(self, group_id: str, keys: Sequence[TopicPartition]) -> None:
        """Append the tombstones of these commits, pending ones included, to the log, then forget
        them. Ignore partitions without a commit. Raise Refused if the append fails."""
        committed, pending = self.offsets.of(group_id), set(self.pending_offsets.of(group_id))
        known = [key for key in keys if key in committed or key in pending]
        tombstones = [group_log.offset_record(group_id, key, None) for key in known]
        self.rules.write_deletions(self.log, group_id, tombstones)
        for key in known:
            self.forget_offset(group_id, key)

    def delete_group(self, group: Group) -> None:
        """Delete a group and everything that it committed, also in open transactions. Raise Refused
        if the log does not take that."""
        pending = self.pending_offsets.of(group.group_id)
        keys = list(dict.fromkeys([*self.offsets.of(group.group_id), *pending]))
        offsets: list[KeyValue] = [
            group_log.offset_record(group.group_id, key, None) for key in keys
        ]
        tombstones = [*offsets, *self._tombstones(group)]
        self.rules.write_deletions(self.log, group.group_id, tombstones)
        for key in keys:
            self.forget_offset(group.group_id, key)
        if isinstance(group, ClassicGroup):
            group.move(Move.GROUP_DELETED)
        del self.groups[group.group_id]

    def _tombstones(self, group: Group) -> list[KeyValue]:
        if isinstance(group, ConsumerGroup):
            return records.group_tombstones(group)
        return [group_log.group_tombstone(group.group_id)]

    def commits_to(self, topic: str) -> CommitsByGroup:
        """Return the commits of all groups for a topic that is deleted, which `forget` then
        deletes. Commits of open transactions are not among them."""
        found: CommitsByGroup = {}
        for group_id, key in self.rules.positions_of_deleted(self.offsets, topic):
            found.setdefault(group_id, {})[key] = self.offsets.of(group_id)[key]
        return found

    def forget(self, commits: CommitsByGroup) -> Iterator[Effect]:
        """Delete these commits, and let others have their turn after each group. Keep those that
        were replaced meanwhile, perhaps for a new topic of the same name, and those whose deletion
        cannot be written."""
        for group_id, known in commits.items():
            committed = self.offsets.of(group_id)
            keys = [key for key, commit in known.items() if committed.get(key) is commit]
            try:
                self.delete_offsets(group_id, keys)
            except Refused:
                # The group's log cannot be written now. The commits stay, but OffsetFetch returns
                # none whose topic id no longer exists (handlers/offset_fetch.py).
                continue
            yield Pause()

    # --- groups -------------------------------------------------------------------------------

    def group(self, group_id: str) -> Group | None:
        """Return the group, or None if there is none. Raise Refused(NOT_COORDINATOR) if this broker
        does not lead the partition any more."""
        self.partition()
        return self.groups.get(group_id)

    def known_group(self, group_id: str) -> Group:
        """Return the group of a member's request. Raise Refused(UNKNOWN_MEMBER_ID) if there is
        none, and NOT_COORDINATOR like `group`."""
        group = self.group(group_id)
        if group is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return group

    def group_to_join(self, group_id: str, member_id: str) -> ClassicGroup:
        """Return the classic group. If there is none, create it, in place of an empty consumer
        group, for a member without an id; raise Refused(UNKNOWN_MEMBER_ID) for one with an id."""
        group = self.group(group_id)
        if isinstance(group, ClassicGroup):
            return group
        if member_id:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if group is not None:
            # Replace an empty consumer group.
            self.log.append(records.group_tombstones(group))
        classic = self.groups[group_id] = ClassicGroup(group_id)
        return classic

    def group_to_commit(self, group_id: str, generation: int, version: int) -> Group:
        """Return the group. If there is none, return a new one, which the commit will add, for a
        commit without a generation (negative); raise Refused for one with a generation. version:
        that of the request, which decides on the error."""
        group = self.group(group_id)
        if group is None:
            if generation >= 0:
                # [Modified in v9: KIP-848]
                raise Refused(
                    ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
                )
            group = ClassicGroup(group_id)  # the commit adds it to `groups`
        return group

    def forget_if_unused(self, group_id: str) -> None:
        """Forget a classic group without members (pending ones included), committed offsets and
        past generations: it was made only for a member that was then refused."""
        group = self.groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            return
        if group.generation > 0 or self.offsets.of(group_id):
            return
        if not group.members and not group.pending_members:
            del self.groups[group_id]
