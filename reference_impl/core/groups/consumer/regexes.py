"""Subscriptions by pattern: which topics does each pattern of a group describe now?

Source: KIP-848 (SubscribedTopicRegex); GroupMetadataManager.java (maybeUpdateRegularExpressions,
handleRegularExpressionsResult), TopicRegexResolver.java. Kafka looks through the topics on another
thread, so a member that joins with a new pattern is answered before its topics are known, and hears
of them with a later heartbeat. Here, too, the answer comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reference_impl.core.effects import Effect, Report
from reference_impl.core.events import Request
from reference_impl.core.groups.consumer import records, targets
from reference_impl.core.groups.consumer.draft import Draft
from reference_impl.core.groups.consumer.group import ConsumerGroup, ResolvedRegex
from reference_impl.core.groups.consumer.member import ConsumerMember
from reference_impl.core.groups.consumer.topic_regex import BadRegex, TopicRegex
from reference_impl.core.refused import Refused
from reference_impl.core.security.permissions import DESCRIBE_TOPIC
from reference_impl.wire import ErrorCode

if TYPE_CHECKING:
    from reference_impl.core.groups.coordinator import GroupCoordinator

REFRESH_INTERVAL_MIN_MS = 10_000
"""REGEX_BATCH_REFRESH_MIN_INTERVAL_MS: topics may come fast, and each time means all of them."""


def note_change(draft: Draft, old: ConsumerMember, new: ConsumerMember) -> bool:
    """Note a member's new pattern; return whether the topics matching it are known already. Raise
    Refused if the pattern is invalid."""
    group = draft.group
    if old.topic_regex == new.topic_regex:
        return False
    if old.topic_regex and not group.subscribers_of_regex(old.topic_regex):
        draft.write(records.regex_record(group.group_id, old.topic_regex, None))
    if not new.topic_regex:
        return True
    if group.subscribers_of_regex(new.topic_regex) > 1:
        return new.topic_regex in group.regexes
    try:
        TopicRegex.compile(new.topic_regex)
    except BadRegex as error:
        raise Refused(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{new.topic_regex}` is not a valid regular expression: {error}.",
        ) from None
    return False


def refresh(coordinator: GroupCoordinator, request: Request) -> Iterator[Effect]:
    """Match patterns against the topics again if these may have changed, and only report a failure.
    A pattern's result counts for all members that use it, and holds only topics that the member
    whose heartbeat causes this may describe (filterTopicDescribeAuthorizedTopics)."""
    group_id = request.body.group_id
    group = coordinator.groups.get(group_id)
    if not isinstance(group, ConsumerGroup):
        return
    patterns = sorted({member.topic_regex for member in group.members.values()} - {""})
    if not patterns or not _is_due(coordinator, group, patterns):
        return
    draft = Draft(group)
    changed = False
    for pattern in patterns:
        found = ResolvedRegex(
            _topics_matching(coordinator, request, pattern),
            coordinator.metadata_version,
            coordinator.now_ms,
        )
        known = group.regexes.get(pattern)
        changed |= found.topics != (known.topics if known is not None else frozenset())
        draft.write(records.regex_record(group_id, pattern, found))
    targets.update_epoch(coordinator, draft, bump=changed)
    try:
        yield from coordinator.write(draft)
    except Refused as refused:
        yield Report(f"the patterns of group {group_id} could not be resolved: {refused}")


def _topics_matching(
    coordinator: GroupCoordinator, request: Request, pattern: str
) -> frozenset[str]:
    try:
        regex = TopicRegex.compile(pattern)
    except BadRegex:
        # Patterns are checked when they come; this one was written by a broker that knows more.
        return frozenset()
    access = coordinator.broker.access
    return frozenset(
        name
        for name in coordinator.image.topics
        if regex.matches(name) and access.may(request, DESCRIBE_TOPIC, name)
    )


def _is_due(coordinator: GroupCoordinator, group: ConsumerGroup, patterns: list[str]) -> bool:
    if not group.regexes:
        return True
    last_ms = max(resolved.timestamp_ms for resolved in group.regexes.values())
    if coordinator.now_ms <= last_ms + REFRESH_INTERVAL_MIN_MS:
        return False
    interval_ms = coordinator.broker.config.number("group.consumer.regex.refresh.interval.ms")
    return (
        len(patterns) != len(group.regexes)
        or any(each.version < coordinator.newest_topic_version for each in group.regexes.values())
        or coordinator.now_ms > last_ms + interval_ms
    )
