"""Fetch and OffsetForLeaderEpoch: what leader epochs tell of histories (KIP-101, KIP-320)."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.case import Unsupported, case, expect, expect_that
from conformance.cases.fetch.test_fetch import filled
from conformance.cases.list_offsets.test_delete_records import epoch_end
from conformance.cases.list_offsets.test_list_offsets import EARLIEST, LATEST, list_offset
from conformance.target.examination import Examined
from conformance.target.restarts import leader_epochs, restarting
from conformance.wire import Topic, Wire, batch
from reference_impl.wire import ErrorCode


@dataclass
class TwoEpochs:
    """A partition of three records of one leadership and two of the next."""

    topic: Topic
    old: int
    new: int

    @staticmethod
    def made(wire: Wire, examined: Examined) -> TwoEpochs:
        """Make a topic with two leader epochs: a restart of the leader begins the second."""
        topic = filled(wire, [b"a", b"b"], [b"c"])
        (old,) = leader_epochs(wire, topic)
        with restarting(wire, topic):
            # A clean end is the end of the leadership; a kill need not be, if the broker is back
            # before its session is over (Apache Kafka 3.9.1).
            try:
                examined.stop_and_restart()
            except Unsupported:
                examined.kill_and_restart()
        expect(wire.produce(topic, batch(b"d", b"e").encode()).error_code, 0, "produce error")
        (new,) = leader_epochs(wire, topic)
        expect_that(new > old, "leader epoch after the restart", f"> {old}", new)
        return TwoEpochs(topic, old, new)


@case(
    "FETCH-17",
    "Fetch",
    versions=(9, 18),
    spec="KIP-320, Fetch; field CurrentLeaderEpoch",
    requires=["restart"],
)
def test_an_older_leader_epoch_is_fenced(wire: Wire, version: int, examined: Examined) -> None:
    """After a new leadership a fetch, or ListOffsets, with the epoch of the one before gets
    FENCED_LEADER_EPOCH (74); with the new one it is served."""
    epochs = TwoEpochs.made(wire, examined)
    stale = wire.fetch(epochs.topic, 0, version, current_leader_epoch=epochs.old)
    expect(stale.error_code, ErrorCode.FENCED_LEADER_EPOCH, "error of the older epoch")
    expect(bytes(stale.records or b""), b"", "records")
    current = wire.fetch(epochs.topic, 0, version, current_leader_epoch=epochs.new)
    expect(current.error_code, ErrorCode.NONE, "error of the new epoch")
    for asked in (LATEST, EARLIEST, 1):
        newest = wire.version("ListOffsets")
        for epoch, error in ((epochs.old, ErrorCode.FENCED_LEADER_EPOCH), (epochs.new, 0)):
            listed = list_offset(wire, epochs.topic, asked, newest, current_leader_epoch=epoch)
            expect(listed.error_code, error, f"ListOffsets error for {asked} with epoch {epoch}")


@case(
    "LIST-19", "OffsetForLeaderEpoch", spec="KIP-101; KIP-279", priority="P1", requires=["restart"]
)
def test_an_older_epoch_ends_where_the_next_begins(
    wire: Wire, version: int, examined: Examined
) -> None:
    """OffsetForLeaderEpoch for the epoch of an earlier leadership returns that epoch and the offset
    of the first record of the next one; an earlier current_leader_epoch gets FENCED_LEADER_EPOCH
    (74)."""
    epochs = TwoEpochs.made(wire, examined)
    for epoch, end in ((epochs.old, 3), (epochs.new, 5)):
        answer = epoch_end(wire, epochs.topic, version, epoch)
        expect(
            (answer.error_code, answer.leader_epoch, answer.end_offset),
            (0, epoch, end),
            f"(error, epoch, end) of epoch {epoch}",
        )
    if epochs.new - epochs.old > 1:
        answer = epoch_end(wire, epochs.topic, version, epochs.new - 1)
        expect(
            (answer.leader_epoch, answer.end_offset),
            (epochs.old, 3),
            "(epoch, end) of one without records",
        )
    stale = epoch_end(wire, epochs.topic, version, epochs.old, current=epochs.old)
    expect(stale.error_code, ErrorCode.FENCED_LEADER_EPOCH, "error of a former current epoch")


@case(
    "FETCH-19",
    "Fetch",
    versions=(12, 18),
    spec="KIP-595, Fetch; field LastFetchedEpoch",
    priority="P1",
)
def test_a_diverging_reader_is_told_where(wire: Wire, version: int) -> None:
    """If a reader's last fetched epoch ends, in the leader's log, before the fetch offset, the
    reader gets that epoch and its end offset in diverging_epoch, and no records; a reader that does
    not diverge is served."""
    topic = filled(wire, [b"a", b"b"], [b"c"])
    (epoch,) = leader_epochs(wire, topic)
    ahead = wire.fetch(topic, 10, version, last_fetched_epoch=epoch)
    expect(
        (ahead.error_code, ahead.diverging_epoch.epoch, ahead.diverging_epoch.end_offset),
        (0, epoch, 3),
        "(error, epoch, end)",
    )
    expect(bytes(ahead.records or b""), b"", "records")
    along = wire.fetch(topic, 2, version, last_fetched_epoch=epoch)
    expect((along.error_code, along.diverging_epoch.epoch), (0, -1), "(error, diverging epoch)")
    expect_that(len(bytes(along.records)) > 0, "records", "the last batch", "none")
    at_end = wire.fetch(topic, 3, version, last_fetched_epoch=epoch)
    expect((at_end.error_code, at_end.diverging_epoch.epoch), (0, -1), "the same at the end")


@case(
    "FETCH-19",
    "Fetch",
    versions=(12, 18),
    spec="KIP-595, Fetch; field LastFetchedEpoch",
    priority="P1",
    requires=["restart"],
)
def test_a_reader_of_a_lost_leadership_is_told_where_it_ended(
    wire: Wire, version: int, examined: Examined
) -> None:
    """A reader that has read more of an earlier leadership than the log contains gets the end of
    that epoch, and so does a reader at exactly that end whose own epoch has no records in the log;
    a reader that names an epoch which never existed gets OFFSET_OUT_OF_RANGE (1)."""
    epochs = TwoEpochs.made(wire, examined)
    answer = wire.fetch(epochs.topic, 4, version, last_fetched_epoch=epochs.old)
    expect(
        (answer.error_code, answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset),
        (0, epochs.old, 3),
        "(error, epoch, end)",
    )
    expect(bytes(answer.records or b""), b"", "records")
    if epochs.new - epochs.old > 1:
        empty = wire.fetch(epochs.topic, 3, version, last_fetched_epoch=epochs.new - 1)
        expect(
            (empty.error_code, empty.diverging_epoch.epoch, empty.diverging_epoch.end_offset),
            (0, epochs.old, 3),
            "(error, epoch, end) of a reader at the end of an epoch without records",
        )
    unknown = wire.fetch(epochs.topic, 4, version, last_fetched_epoch=epochs.new + 5)
    expect(unknown.error_code, ErrorCode.OFFSET_OUT_OF_RANGE, "error of an epoch nobody knows")
