"""Partitions that no final read has read are tried again, for as long as the judge demands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chaos.record.recorder import HistoryRecorder
from chaos.run import unread
from chaos.run.unread import try_unread, unread_in
from chaos.run.workers import Shared, Throttle
from chaos.sim.world import VirtualWorld
from chaos.values.operations import TryRead
from chaos.values.protocols import ClientSettings, Completion, Operation, Outcome, Record
from linearizability import history
from linearizability.judging import check
from linearizability.verdict import Validity


class Reader:
    """Reads even partitions, and partition 1 at the third try. All others get an error."""

    name = "raw"

    def __init__(self) -> None:
        self.asked: list[TryRead] = []

    async def perform(self, operation: Operation) -> Completion:
        assert isinstance(operation, TryRead)
        self.asked.append(operation)
        number = operation.partition
        is_read = number % 2 == 0 or (number == 1 and self.tries_of(1) == 3)
        columns: dict[str, Any] = {"node": 1, "leader_epoch": 0, "asked_offset": number}
        if is_read:
            return Completion(Outcome.OK, columns=columns)
        columns["asked"] = "answered"
        return Completion(Outcome.FAIL, (), "FENCED_LEADER_EPOCH", columns=columns)

    async def close(self) -> None:
        pass

    def tries_of(self, partition: int) -> int:
        return sum(one.partition == partition for one in self.asked)


def tried(directory: Path, partitions: range, reader: Reader) -> Shared:
    directory.mkdir(exist_ok=True)
    world = VirtualWorld(1)
    recorder = HistoryRecorder(directory, "r")
    shared = Shared("r", "nowhere:1", recorder, 1, world, Throttle(world, 1.0))

    def factory(bootstrap: str, process: int, settings: ClientSettings) -> Reader:
        return reader

    world.run(try_unread(shared, [("t", number) for number in partitions], factory, 9))
    recorder.close()
    return shared


def test_what_can_be_read_is_tried_once(tmp_path: Path) -> None:
    reader = Reader()
    tried(tmp_path, range(0, 9, 2), reader)
    assert len(reader.asked) == 5


def test_what_cannot_be_read_is_tried_until_it_is_judged(tmp_path: Path) -> None:
    reader = Reader()
    tried(tmp_path, range(4), reader)
    assert (reader.tries_of(1), reader.tries_of(2)) == (3, 1)
    assert reader.tries_of(3) >= unread.TRIES_MIN
    assert {one.offset for one in reader.asked if one.partition == 3} == {None, 3}
    verdict = check(tmp_path, engine="local")
    (anomaly,) = verdict.checkers["readable_partitions"].anomalies
    assert (verdict.validity, anomaly.scope["partition"]) == (Validity.INVALID, 3)
    assert "node 1 failed" in anomaly.message and "FENCED_LEADER_EPOCH" in anomaly.message
    rows = history.scan(tmp_path).collect()
    assert rows["f"].unique().to_list() == ["try_read"] and rows["final"].all()


def test_only_some_are_tried_again(tmp_path: Path) -> None:
    reader = Reader()
    tried(tmp_path, range(3, 30, 2), reader)
    again = [number for number in range(3, 30, 2) if reader.tries_of(number) > 1]
    assert again == [3, 5, 7]


def test_the_leaders_reads_that_failed_are_unread() -> None:
    def row(partition: int, outcome: Outcome, replica: int | None = None) -> Record:
        extra = {"f": "read_all", "replica": replica}
        return Record("t", partition, None, None, outcome, extra=extra)

    rows = [row(0, Outcome.OK), row(1, Outcome.INFO), row(2, Outcome.INFO, replica=2)]
    assert unread_in(Completion(Outcome.INFO, rows)) == [("t", 1)]
