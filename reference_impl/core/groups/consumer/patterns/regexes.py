"""Subscriptions by pattern: find the topics that match each pattern of a group.

Source: KIP-848 (SubscribedTopicRegex); GroupMetadataManager.java (maybeUpdateRegularExpressions,
handleRegularExpressionsResult), TopicRegexResolver.java. Kafka looks through the topics on another
thread, so a member that joins with a new pattern is answered before its topics are known, and gets
them with a later heartbeat. Here, too, the answer comes first.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from reference_impl.core.effects import Effect, GiveWay, Report
from reference_impl.core.events import Request
from reference_impl.core.groups.consumer import targets
from reference_impl.core.groups.consumer.model import records
from reference_impl.core.groups.consumer.model.draft import Draft
from reference_impl.core.groups.consumer.model.group import ConsumerGroup, ResolvedRegex
from reference_impl.core.groups.consumer.model.member import ConsumerMember
from reference_impl.core.groups.consumer.patterns.topic_regex import BadRegex, TopicRegex
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import DESCRIBE_TOPIC
from reference_impl.wire import ErrorCode

Found = dict[str, ResolvedRegex]
"""Pattern -> the topics that it matches."""
REFRESH_INTERVAL_MIN_MS = 10_000
"""The shortest time between two matchings, since each goes through all topics and topics may be
created in quick succession (REGEX_BATCH_REFRESH_MIN_INTERVAL_MS)."""


def note_change(draft: Draft, old: ConsumerMember, new: ConsumerMember) -> bool:
    """Delete the old pattern of a member from the draft, which has `new` already, if no other
    member uses it. Return whether the member's topics have changed and are known already: it uses
    no pattern now, or one that was resolved for another member. Raise Refused if the new pattern is
    invalid."""
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


def look_through_topics(
    coordinator: GroupCoordinator, request: Request
) -> Generator[Effect, None, Found]:
    """Match the patterns of the request's group against all topics again if the results may be out
    of date, and return the new results, or none if that is not due. Give way to other requests in
    between. A pattern's result counts for all members that use it, and holds only topics that the
    member whose heartbeat causes this may describe (filterTopicDescribeAuthorizedTopics)."""
    group = coordinator.groups.get(request.body.group_id)
    if not isinstance(group, ConsumerGroup):
        return {}
    patterns = sorted({member.topic_regex for member in group.members.values()} - {""})
    if not patterns or not _is_due(coordinator, group, patterns):
        return {}
    found: Found = {}
    for pattern in patterns:
        version = coordinator.metadata_version  # topics created from here on need another look
        topics = yield from _topics_matching(coordinator, request, pattern)
        found[pattern] = ResolvedRegex(topics, version, coordinator.now_ms)
    return found


def note_topics(coordinator: GroupCoordinator, group_id: str, found: Found) -> Iterator[Effect]:
    """Write to the group's log which topics its patterns match, and bump the group's epoch if that
    has changed. Report a failed write, but raise nothing. Do nothing if `found` is empty."""
    group = coordinator.groups.get(group_id)
    if not found or not isinstance(group, ConsumerGroup):
        return
    draft = Draft(group)
    changed = False
    for pattern, resolved in found.items():
        if not group.subscribers_of_regex(pattern):
            continue  # its members left while other requests had their turn
        known = group.regexes.get(pattern)
        changed |= resolved.topics != (known.topics if known is not None else frozenset())
        draft.write(records.regex_record(group_id, pattern, resolved))
    targets.update_epoch(coordinator, draft, bump=changed)
    try:
        yield from coordinator.write(draft)
    except Refused as refused:
        yield Report(f"the patterns of group {group_id} could not be resolved: {refused}")


def _topics_matching(
    coordinator: GroupCoordinator, request: Request, pattern: str
) -> Generator[Effect, None, frozenset[str]]:
    try:
        regex = TopicRegex.compile(pattern)
    except BadRegex:
        # Patterns are checked when they come; this one was written by a broker that knows more.
        return frozenset()
    access = coordinator.access
    found = set()
    for name in list(coordinator.image.topics):
        if regex.matches(name) and access.may(request, DESCRIBE_TOPIC, name):
            found.add(name)
        yield GiveWay(request)
    return frozenset(found)


def _is_due(coordinator: GroupCoordinator, group: ConsumerGroup, patterns: list[str]) -> bool:
    if not group.regexes:
        return True
    last_ms = max(resolved.timestamp_ms for resolved in group.regexes.values())
    if coordinator.now_ms <= last_ms + REFRESH_INTERVAL_MIN_MS:
        return False
    interval_ms = coordinator.settings.number("group.consumer.regex.refresh.interval.ms")
    return (
        len(patterns) != len(group.regexes)
        or any(each.version < coordinator.newest_topic_version for each in group.regexes.values())
        or coordinator.now_ms > last_ms + interval_ms
    )
