"""A commit for several topics writes only the offsets of the first topic."""

from __future__ import annotations

from collections.abc import Sequence

from reference_impl.core.groups.group_log import Entry, GroupLog
from reference_impl.core.rules import Rules
from reference_impl.wire import Record, decode_record


class WriteOneTopicOfACommit(Rules):
    """Real-world kin: loops that end after the first iteration.

    Breaks:     a committed offset must survive `kill -9` of its coordinator, whatever else is in
                its request (OffsetCommitRequest.json, Topics).
    Caught by:  workload offsets, nemesis kill, checker committed_offsets. Nothing is wrong until
                the coordinator restarts.
    Within:     one run of 30 seconds.
    """

    def write_commits(
        self, log: GroupLog, group_id: str, records: Sequence[Entry], writer: tuple[int, int] | None
    ) -> int:
        """Write only the commit's records of its first topic."""
        topics = [topic_of(record) for record in records]
        first = [
            record for record, topic in zip(records, topics, strict=True) if topic == topics[0]
        ]
        return super().write_commits(log, group_id, first, writer)


def topic_of(entry: Entry) -> str:
    """Return the topic of a commit."""
    if isinstance(entry, Record):
        key, _ = decode_record(entry.key or b"", entry.value)
    else:
        key, _ = entry
    topic: str = key.topic
    return topic
