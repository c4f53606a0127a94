"""A change of a consumer group that is not written yet.

Each record takes effect on a copy of the group at once, so that later decisions can rely on it. The
change is written as a whole or not at all: a request that is refused half way, or a disk that
fails, leaves the group as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reference_impl.core.effects import Effect
from reference_impl.core.groups.consumer.model import records
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.records import KeyValue


class Draft:
    """The group after a change, the records that cause the change, and the actions to take once
    they are written."""

    def __init__(self, group: ConsumerGroup, before: Iterable[KeyValue] = ()) -> None:
        self.group = group.draft()
        self.records = list(before)
        """It begins with the records `before`, such as tombstones of the classic group that this
        one replaces."""
        self.effects: list[Iterable[Effect]] = []

    def write(self, *changes: KeyValue) -> None:
        """Apply these records to the draft's group, and add them to the records of the change."""
        for key, value in changes:
            records.apply(self.group, key, value)
            self.records.append((key, value))

    def then(self, effects: Iterable[Effect]) -> None:
        """Keep these effects for `consequences`: they are performed once the records are in the
        log, and not at all if they cannot be written."""
        self.effects.append(effects)

    def consequences(self) -> Iterator[Effect]:
        """Yield the effects that `then` was given, in order."""
        for effects in self.effects:
            yield from effects
