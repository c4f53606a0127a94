"""A reader that seeks back gets the records after its old position instead."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.wire import Struct


class IgnoreRewinds(Rules):
    """Real-world kin: read-ahead caches that take a connection's next fetch for a continuation.

    Breaks:     a Fetch must be read from the offset that it names (FetchRequest.json, FetchOffset).
    Caught by:  workload seeks, any nemesis or none, checker poll_skips: the first record after
                a seek is not the one that was sought.
    Within:     one run of 20 seconds.
    """

    def __init__(self) -> None:
        self._read_up_to: dict[tuple[int, str, int], int] = {}

    def fetch_offset(self, partition: Partition, params: Struct, connection: int) -> int:
        """Return the largest offset that this connection ever asked for in the partition."""
        reader = (connection, partition.topic, partition.index)
        wanted = super().fetch_offset(partition, params, connection)
        self._read_up_to[reader] = max(wanted, self._read_up_to.get(reader, 0))
        return self._read_up_to[reader]
