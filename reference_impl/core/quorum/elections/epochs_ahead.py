"""Limit the epochs by which other nodes may move this one ahead.

The epochs of the protocol and the files have 32 bits, and after the last one nobody can be elected
any more. Each election takes one epoch and more than a millisecond, so no real quorum gets there.
But a Vote may name any epoch, and a voter follows it. Apache Kafka has no limit: one packet with
the last epoch ends its quorum.
"""

from __future__ import annotations

from reference_impl.core.moment import Moment

EPOCHS_AHEAD_MAX = 2**28
"""The number of epochs by which others may be ahead when this node starts: eight years of elections
at one a second."""


class EpochsAhead:
    """The number of epochs by which other nodes may still raise this node's epoch. Each millisecond
    adds one, up to EPOCHS_AHEAD_MAX."""

    def __init__(self, moment: Moment) -> None:
        self._moment = moment
        self._left, self._known_ms = EPOCHS_AHEAD_MAX, moment.monotonic_ms

    def allows(self, count: int) -> bool:
        """Return whether this node may take over an epoch that is `count` greater than its own."""
        now_ms = self._moment.monotonic_ms
        self._left = min(EPOCHS_AHEAD_MAX, self._left + now_ms - self._known_ms)
        self._known_ms = now_ms
        return count <= self._left

    def follow(self, count: int) -> None:
        """Use up `count` epochs: this node took over an epoch that much greater than its own."""
        self._left -= count
