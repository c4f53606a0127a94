"""Test what the raw reader reports of leaders and of followers, against replicas in memory."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from chaos.clients import payload
from chaos.clients.wire import raw
from chaos.clients.wire.raw import RawClient
from chaos.clients.wire.wire_link import EARLIEST, FUTURE_REPLICA, Leader, PartitionState, View
from chaos.means.connection import WireError
from chaos.means.real_world import REAL_WORLD, run
from chaos.values.protocols import Completion, Outcome, ReadAll, Record
from reference_impl.wire import ErrorCode, RecordBatch
from reference_impl.wire import Record as WireRecord

NONCE = payload.nonce_of("test")
READ = ReadAll((("t", 0),), raw=True)
ADDRESSES = {node: ("127.0.0.1", node) for node in (1, 2, 3)}


def batch(base_offset: int, values: Sequence[int]) -> bytes:
    records = tuple(
        WireRecord(offset_delta=delta, value=payload.encode(value, NONCE))
        for delta, value in enumerate(values)
    )
    return RecordBatch(base_offset=base_offset, records=records, producer_id=7).encode()


class Replicas:
    """Replicas in memory, of which node 1 leads; each node has a log and a high watermark."""

    def __init__(self, logs: dict[int, list[int]], high_watermarks: dict[int, list[int]]) -> None:
        self.logs = logs
        self.high_watermarks = high_watermarks
        """The high watermarks that successive fetches return; later fetches get the last one."""
        self.registered = dict(ADDRESSES)
        self.in_sync = tuple(ADDRESSES)
        self.records_per_answer: int | None = None
        self.epochs_asked: set[int] = set()
        self.earliest = 0
        self.starts: dict[int, int] = {}
        """Node -> the start of its log, where that is above 0."""

    async def view(self, topics: Sequence[str]) -> View:
        state = PartitionState(1, 5, tuple(ADDRESSES), self.in_sync)
        return View(self.registered, {}, dict.fromkeys(((t, 0) for t in topics), state))

    async def leader(self, topic: str, partition: int) -> Leader:
        return Leader(ADDRESSES[1], 5)

    async def follower(self, leader: Leader, node: int) -> Leader:
        if node not in self.registered:
            raise WireError(f"node {node} is not registered")
        return Leader(ADDRESSES[node], leader.epoch)

    async def offset(self, leader: Leader, topic: str, partition: int, timestamp: int) -> int:
        return self.earliest if timestamp == EARLIEST else self.high_watermarks[1][-1]

    async def ask(self, address: tuple[str, int], api: int, **fields: Any) -> SimpleNamespace:
        wanted = fields["topics"][0].partitions[0]
        self.epochs_asked.add(wanted.current_leader_epoch)
        node = address[1]
        said = self.high_watermarks[node]
        high_watermark = said.pop(0) if len(said) > 1 else said[0]
        limit = None if fields["replica_id"] == FUTURE_REPLICA else high_watermark
        values = self.logs[node][wanted.fetch_offset : limit][: self.records_per_answer]
        is_there = self.starts.get(node, 0) <= wanted.fetch_offset <= len(self.logs[node])
        found = SimpleNamespace(
            error_code=0 if is_there else ErrorCode.OFFSET_OUT_OF_RANGE,
            records=batch(wanted.fetch_offset, values) if values else None,
            high_watermark=high_watermark,
            last_stable_offset=high_watermark,
            log_start_offset=self.starts.get(node, 0),
        )
        return SimpleNamespace(error_code=0, responses=[SimpleNamespace(partitions=[found])])

    def close(self) -> None:
        pass


def read(replicas: Replicas, monkeypatch: pytest.MonkeyPatch, late_s: float = 0.3) -> Completion:
    monkeypatch.setattr(raw, "WireCluster", lambda world, bootstrap: replicas)
    client = RawClient(REAL_WORLD, "nowhere:1", NONCE, timeout_s=1.0, share_s=0.2, late_s=late_s)
    return run(client.perform(READ))


def of(completion: Completion, replica: int | None) -> list[Record]:
    return [record for record in completion.records if record.extra.get("replica") == replica]


def test_every_replica_is_read_and_said_to_be_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    replicas = Replicas({n: [10, 11, 12] for n in ADDRESSES}, {n: [3] for n in ADDRESSES})
    completion = read(replicas, monkeypatch)
    assert completion.outcome is Outcome.OK
    for replica in (None, 2, 3):
        *records, whole = of(completion, replica)
        assert [(r.offset, r.value) for r in records] == [(0, 10), (1, 11), (2, 12)]
        assert whole.extra["f"] == "read_all" and whole.extra["high_watermark"] == 3
    assert replicas.epochs_asked == {5}


def test_only_the_leader_speaks_for_its_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    replicas = Replicas({n: [10] for n in ADDRESSES}, {n: [1] for n in ADDRESSES})
    completion = read(replicas, monkeypatch)
    assert of(completion, None)[-1].extra["leader_epoch"] == 5
    assert of(completion, 2)[-1].extra["leader_epoch"] is None
    assert of(completion, 2)[0].extra["high_watermark"] == 1


def test_a_follower_that_lags_behind_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = {1: [3], 2: [3], 3: [0, 1, 3]}
    completion = read(Replicas({n: [10, 11, 12] for n in ADDRESSES}, marks), monkeypatch)
    assert completion.outcome is Outcome.OK
    assert [r.value for r in of(completion, 3)] == [10, 11, 12, None]


def test_a_log_that_differs_is_recorded_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = {1: [10, 11], 2: [10, 99], 3: [10, 11]}
    completion = read(Replicas(logs, {n: [2] for n in ADDRESSES}), monkeypatch)
    assert [r.value for r in of(completion, 2)] == [10, 99, None]


def test_a_replica_that_is_away_is_an_incomplete_read(monkeypatch: pytest.MonkeyPatch) -> None:
    replicas = Replicas({n: [10] for n in ADDRESSES}, {n: [1] for n in ADDRESSES})
    del replicas.registered[3]
    completion = read(replicas, monkeypatch)
    assert completion.outcome is Outcome.INFO
    assert completion.detail == "not read to the end: t-0 on node 3"
    assert of(completion, 3)[-1].outcome is Outcome.INFO
    assert of(completion, None)[-1].outcome is Outcome.OK


def test_a_follower_that_learns_nothing_is_read_to_where_its_leader_has_committed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A follower that does not learn the newest high watermark is read up to its leader's. Apache
    Kafka 4.3.1 leaves an old one where nobody writes (docs/findings.md)."""
    logs = {1: [10, 11, 12], 2: [10, 11, 12], 3: [10, 11, 12, 13]}
    completion = read(Replicas(logs, {1: [3], 2: [3], 3: [1]}), monkeypatch)
    assert completion.outcome is Outcome.OK
    *records, whole = of(completion, 3)
    assert [(r.offset, r.value) for r in records] == [(0, 10), (1, 11), (2, 12)]
    assert {r.extra["high_watermark"] for r in records} == {1, 3}
    assert whole.extra["high_watermark"] == 3 and whole.extra["last_stable_offset"] is None
    assert completion.detail == (
        "t-0 on node 3: its high watermark stayed at 1, its leader's is 3; its log was read up to 3"
    )


def test_a_follower_whose_log_takes_many_answers_is_not_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The follower has learned the high watermark in time; only reading its log takes longer."""
    replicas = Replicas({n: [10, 11, 12] for n in ADDRESSES}, {n: [3] for n in ADDRESSES})
    replicas.records_per_answer = 1
    completion = read(replicas, monkeypatch, late_s=-1.0)
    assert completion.outcome is Outcome.OK and completion.detail is None
    *records, whole = of(completion, 3)
    assert [r.value for r in records] == [10, 11, 12]
    assert whole.extra["last_stable_offset"] == 3


def test_a_follower_that_is_not_in_sync_is_read_no_further_than_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    replicas = Replicas({n: [10, 11] for n in ADDRESSES}, {1: [2], 2: [1], 3: [2]})
    replicas.in_sync = (1, 3)
    completion = read(replicas, monkeypatch)
    assert completion.outcome is Outcome.INFO
    assert completion.detail == "not read to the end: t-0 on node 2"
    assert of(completion, 3)[-1].outcome is Outcome.OK


@pytest.mark.parametrize("start", [1, 5, 8])
def test_a_follower_that_has_deleted_more_than_its_leader_is_read_from_its_start(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower with a higher log start than its leader is read from its own start. Such a
    follower led before, and was cut off before the others had heard of its deletion."""
    values = [*range(10, 18)]
    replicas = Replicas(dict.fromkeys(ADDRESSES, values), {n: [8] for n in ADDRESSES})
    replicas.starts[3] = start
    completion = read(replicas, monkeypatch)
    assert completion.outcome is Outcome.OK
    *records, whole = of(completion, 3)
    assert [r.value for r in records] == values[start:]
    assert whole.extra["log_start"] == start and of(completion, 2)[-1].extra["log_start"] == 0


def test_a_follower_that_has_not_deleted_what_its_leader_has_is_read_from_its_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A leader may delete records between the readings of itself and of a follower. If the follower
    were read from the leader's new start, it would seem to lack records."""
    replicas = Replicas({n: [10, 11, 12] for n in ADDRESSES}, {n: [3] for n in ADDRESSES})
    replicas.earliest, replicas.starts[1] = 2, 2
    completion = read(replicas, monkeypatch)
    assert next(r.offset for r in of(completion, None) if r.extra.get("f") != "position") == 2
    for replica in (2, 3):
        *records, whole = of(completion, replica)
        assert [record.offset for record in records] == [0, 1, 2]
        assert whole.extra["log_start"] == 0


def test_a_follower_whose_log_is_too_short_is_an_incomplete_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logs = {1: [10, 11, 12], 2: [10, 11, 12], 3: []}
    replicas = Replicas(logs, {n: [3] for n in ADDRESSES})
    replicas.earliest = 2
    completion = read(replicas, monkeypatch)
    assert completion.detail == "not read to the end: t-0 on node 3"


def test_a_leader_that_hides_the_start_of_its_log_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    replicas = Replicas({n: [10, 11, 12] for n in ADDRESSES}, {n: [3] for n in ADDRESSES})
    replicas.earliest = 2
    began, *records, whole = of(read(replicas, monkeypatch), None)
    assert (began.extra["f"], began.extra["asked"]) == ("position", "earliest")
    assert (began.offset, began.extra["log_start"]) == (2, 0)
    assert [record.offset for record in records] == [2]
    assert whole.extra["log_start"] == 0
