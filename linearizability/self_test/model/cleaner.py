"""The removal of records in the model: the settings of its topic, compaction, and the deletion of a
log's beginning.

All partitions of a world belong to one topic. Half of the worlds record its settings; some compact
it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from random import Random

from linearizability.self_test.model.partition import Dress, Partition

DELETED_BY_TIME_OR_SIZE: Sequence[dict[str, str]] = (
    {"retention.ms": "5"},
    {"retention.bytes": "100"},
)
KEPT: Sequence[dict[str, str]] = ({}, {}, {"retention.ms": "-1"})
COMPACTED: Sequence[dict[str, str]] = (
    {"cleanup.policy": "compact"},
    {"cleanup.policy": "compact", "delete.retention.ms": "0"},
)
KEYS = ("a", "b", "c", "d", "e")


class Cleaner:
    """The topic's settings, and the removals that they permit."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.is_told = rng.random() < 0.7
        self.compacts = rng.random() < 0.3
        choices = COMPACTED if self.compacts else [*KEPT, *DELETED_BY_TIME_OR_SIZE]
        self.settings = rng.choice(choices)
        self.tombstone_share = rng.choice([0.0, 0.05, 0.1])
        self.stamps_appends = False
        """Whether the topic's brokers set the timestamps (message.timestamp.type=LogAppendTime)."""
        self._dresses: dict[int | None, Dress] = {None: Dress()}

    @property
    def deletes(self) -> bool:
        """Return whether records may be deleted without a DeleteRecords request."""
        return self.settings in DELETED_BY_TIME_OR_SIZE

    @property
    def text(self) -> str:
        kind = "LogAppendTime" if self.stamps_appends else "CreateTime"
        return json.dumps(self.settings | {"message.timestamp.type": kind})

    def dress(self, value: int | None) -> Dress:
        """Return a record's key, and whether it is a tombstone: chosen at random once, and then the
        same in every read of it. Both are None if the topic is not compacted."""
        if not self.compacts:
            return Dress()
        if value not in self._dresses:
            key, tombstone = self.rng.choice(KEYS), self.rng.random() < self.tombstone_share
            self._dresses[value] = Dress(key, tombstone)
        return self._dresses[value]

    def clean(self, partitions: Sequence[Partition]) -> Iterator[None]:
        """Compact a random partition every few turns, for ever; end at once if the topic is not
        compacted."""
        while self.compacts:
            for _ in range(self.rng.randint(1, 60)):
                yield
            tombstones_go = self.settings.get("delete.retention.ms") == "0"
            self.rng.choice(partitions).compact(self.dress, tombstones_go)
