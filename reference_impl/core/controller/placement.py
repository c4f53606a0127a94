"""The replicas of new partitions: over all brokers in stripes, and over their racks.

Source: StripedReplicaPlacer.java; KIP-36 (racks), KIP-631 (fenced brokers), KIP-1066 (cordoned
directories).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from reference_impl.core.controller.image.registrations import BrokerImage
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode


@dataclass(slots=True)
class _Rack:
    """The brokers of a rack. Each call of `in_turn` begins with the next one of them."""

    living: Sequence[int]
    fenced: Sequence[int]
    turn: int

    def in_turn(self) -> tuple[Iterator[int], Iterator[int]]:
        """Return the living and the fenced brokers of the rack, both rotated by one more place than
        at the last call."""
        self.turn += 1
        return iter(_rotated(self.living, self.turn)), iter(_rotated(self.fenced, self.turn))


def placed(
    brokers: Iterable[BrokerImage], partitions: int, factor: int, first: int
) -> tuple[tuple[int, ...], ...]:
    """Return the replicas of each new partition, the preferred leader first. Raise Refused if all
    brokers are fenced, or fewer than `factor` take new partitions. `first` says where the stripes
    begin, so that the first partitions of all topics do not fall on one broker."""
    usable = [broker for broker in brokers if not broker.is_cordoned]
    if all(broker.fenced for broker in usable):
        raise _too_few(
            "All brokers are currently fenced, or have all their log directories cordoned."
        )
    if factor > len(usable):
        raise _too_few(
            f"The target replication factor of {factor} cannot be reached because only"
            f" {len(usable)} broker(s) are registered or some brokers have all their log"
            " directories cordoned."
        )
    racks = _racks(usable, first)
    return tuple(
        tuple(islice(_stripe(_rotated(racks, first + index)), factor))
        for index in range(partitions)
    )


def _stripe(racks: Sequence[_Rack]) -> Iterator[int]:
    """Yield the brokers for one partition: one of each rack in turn, fenced brokers only when no
    other is left. So the first broker, which becomes the leader, is not fenced if any broker is
    not."""
    turns = [rack.in_turn() for rack in racks]
    for group in (0, 1):
        left = [turn[group] for turn in turns]
        while left:
            for brokers in list(left):
                broker = next(brokers, None)
                if broker is None:
                    left.remove(brokers)
                else:
                    yield broker


def _racks(brokers: Sequence[BrokerImage], first: int) -> list[_Rack]:
    names = sorted({broker.rack or "" for broker in brokers})
    found = []
    for name in names:
        here = sorted(b.node_id for b in brokers if (b.rack or "") == name and not b.fenced)
        fenced = sorted(b.node_id for b in brokers if (b.rack or "") == name and b.fenced)
        found.append(_Rack(here, fenced, first))
    return found


def _rotated(items: Sequence, by: int) -> list:  # type: ignore[type-arg]
    by = by % len(items) if items else 0
    return [*items[by:], *items[:by]]


def _too_few(reason: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
