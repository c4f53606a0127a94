"""ListOffsets: the leader epochs of offsets after a new leadership (KIP-320)."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.fetch.test_epochs import TwoEpochs
from conformance.cases.list_offsets.test_list_offsets import EARLIEST, LATEST, list_offset
from conformance.target.examination import Examined
from conformance.wire import Wire


@case(
    "LIST-15",
    "ListOffsets",
    versions=(4, 11),
    spec="KIP-320, ListOffsets; class UnifiedLog, fetchOffsetByTimestamp",
    requires=["restart"],
)
def test_the_earliest_offset_has_the_epoch_of_its_record(
    wire: Wire, version: int, examined: Examined
) -> None:
    """After a new leadership the earliest offset, and one found by a time, carry the epoch in which
    their record was written; the latest carries the epoch of the leader."""
    epochs = TwoEpochs.made(wire, examined)
    found = {
        asked: list_offset(wire, epochs.topic, asked, version) for asked in (EARLIEST, 1, LATEST)
    }
    expect(
        {asked: (each.offset, each.leader_epoch) for asked, each in found.items()},
        {EARLIEST: (0, epochs.old), 1: (0, epochs.old), LATEST: (5, epochs.new)},
        "asked for -> (offset, leader epoch)",
    )
