"""Choose a record's partition when the application does not.

Source: Java classes BuiltInPartitioner, RoundRobinPartitioner and Utils.murmur2; KIP-480 and
KIP-794 (records without a key stick to one partition for a batch's worth of bytes, then move).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reference_impl.client.kernel import Chance

_MASK = 0xFFFFFFFF
_SEED = 0x9747B28C
_M = 0x5BD1E995


def murmur2(data: bytes) -> int:
    """Return MurmurHash2 as Java computes it, as an unsigned number (Utils.murmur2)."""
    length = len(data)
    hashed = (_SEED ^ length) & _MASK
    whole = length & ~3
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _M & _MASK
        word = (word ^ word >> 24) * _M & _MASK
        hashed = (hashed * _M & _MASK) ^ word
    if whole != length:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    hashed = (hashed ^ hashed >> 13) * _M & _MASK
    return hashed ^ hashed >> 15


def partition_for_key(key: bytes, partitions: int) -> int:
    """Return the partition to which every client must send this key
    (BuiltInPartitioner.partitionForKey)."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions  # toPositive: the sign bit is cut off


class Partitioner(Protocol):
    """Chooses a partition of one topic for a record without one."""

    def partition(self, key: bytes | None, partitions: int, available: Sequence[int]) -> int:
        """Return a partition from 0 to partitions - 1. available: the partitions with a leader,
        preferred unless the key decides."""

    def appended(self, partition: int, size: int) -> None:
        """Note that this many bytes went to a partition."""


class StickyPartitioner:
    """The partitioner that sends a key to its partition, and keeps records without a key together
    for `batch.size` bytes."""

    def __init__(self, chance: Chance, batch_size: int, ignore_keys: bool) -> None:
        self._chance = chance
        self._batch_size = batch_size
        self._ignore_keys = ignore_keys
        self._current: int | None = None
        self._produced = 0

    def partition(self, key: bytes | None, partitions: int, available: Sequence[int]) -> int:
        if key is not None and not self._ignore_keys:
            return partition_for_key(key, partitions)
        if self._current is None or self._current >= partitions:
            choice = available or range(partitions)
            self._current = choice[self._chance.randrange(len(choice))]
            self._produced = 0
        return self._current

    def appended(self, partition: int, size: int) -> None:
        if partition == self._current:
            self._produced += size
            if self._produced >= self._batch_size:
                self._current = None


class RoundRobinPartitioner:
    """The partitioner that sends one record to each partition in turn, with or without keys."""

    def __init__(self) -> None:
        self._next = 0

    def partition(self, key: bytes | None, partitions: int, available: Sequence[int]) -> int:
        choice = available or range(partitions)
        chosen = choice[self._next % len(choice)]
        self._next += 1
        return chosen

    def appended(self, partition: int, size: int) -> None:
        pass  # choosing the partition has moved the turn already
