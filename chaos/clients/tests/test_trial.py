"""Test what a try to read one partition reports, against a leader in memory."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from chaos.clients.tests.test_raw import ADDRESSES, batch
from chaos.clients.wire import trial
from chaos.clients.wire.trial import Trial
from chaos.clients.wire.wire_link import EARLIEST, Leader, PartitionState, View, check
from chaos.means.connection import WireError
from chaos.means.real_world import REAL_WORLD, run
from chaos.values.operations import TryRead
from chaos.values.protocols import Completion, Outcome
from reference_impl.wire import ApiKey, ErrorCode


class LeaderOfTwo:
    """Node 1, which leads the partitions 0 and 1 of topic t, with five records in partition 0."""

    def __init__(self) -> None:
        self.state = PartitionState(1, 5, (1, 2), (1, 2))
        self.views = True
        self.answers = True
        """Whether the node answers requests other than Fetch and ListOffsets."""
        self.stops_at = 99
        """The offset from which fetches get no records."""
        self.code = 0
        self.is_silent = False
        self.fetched: list[list[int]] = []
        """The partitions that each fetch named, in order."""

    async def view(self, topics: Sequence[str], address: object = None) -> View:
        if not (self.views if address is None else self.answers):
            raise WireError("no answer")
        partitions = {("t", 0): self.state, ("t", 1): PartitionState(1, 3, (1,), (1,))}
        return View(dict(ADDRESSES), {}, partitions if topics else {})

    async def offset(self, leader: Leader, topic: str, partition: int, timestamp: int) -> int:
        check(self.code, "ListOffsets")
        return 0 if timestamp == EARLIEST else 5

    async def ask(self, address: object, api: ApiKey, **fields: Any) -> SimpleNamespace:
        if self.is_silent:
            raise WireError("no answer in time")
        wanted = fields["topics"][0].partitions
        self.fetched.append([one.partition for one in wanted])
        offset = wanted[0].fetch_offset
        records = batch(offset, [offset]) if offset < min(5, self.stops_at) else None
        own = SimpleNamespace(
            partition_index=0, error_code=0, records=records, high_watermark=5, log_start_offset=0
        )
        return SimpleNamespace(error_code=0, responses=[SimpleNamespace(partitions=[own])])

    def close(self) -> None:
        pass


@pytest.fixture
def leader(monkeypatch: pytest.MonkeyPatch) -> LeaderOfTwo:
    made = LeaderOfTwo()
    monkeypatch.setattr(trial, "WireCluster", lambda world, bootstrap: made)
    return made


def tried(offset: int | None = None) -> tuple[Completion, dict[str, Any]]:
    completion = run(Trial(REAL_WORLD, "nowhere:1").perform(TryRead("t", 0, offset)))
    return completion, dict(completion.columns)


def test_a_partition_is_read_to_its_end(leader: LeaderOfTwo) -> None:
    completion, told = tried()
    assert completion.outcome is Outcome.OK
    assert (told["node"], told["leader_epoch"], told["asked_offset"]) == (1, 5, 5)
    assert leader.fetched == [[0, 1]] * 5


def test_a_fetch_without_records_below_the_high_watermark_fails(leader: LeaderOfTwo) -> None:
    leader.stops_at = 3
    completion, told = tried()
    assert (completion.outcome, completion.error) == (Outcome.FAIL, "_NO_RECORDS")
    assert (told["asked_offset"], told["asked"]) == (3, "answered")


def test_an_error_is_named(leader: LeaderOfTwo) -> None:
    leader.code = ErrorCode.FENCED_LEADER_EPOCH
    completion, told = tried(2)
    assert (completion.outcome, completion.error) == (Outcome.FAIL, "FENCED_LEADER_EPOCH")
    assert (told["asked_offset"], told["asked"]) == (2, "answered")


@pytest.mark.parametrize(("answers", "asked"), [(True, "answered"), (False, "silent")])
def test_no_answer_is_told_beside_that_to_another_request(
    leader: LeaderOfTwo, answers: bool, asked: str
) -> None:
    leader.is_silent, leader.answers = True, answers
    completion, told = tried()
    assert (completion.outcome, completion.error) == (Outcome.INFO, "_NO_ANSWER")
    assert (told["node"], told["asked"]) == (1, asked)


@pytest.mark.parametrize(
    ("in_sync", "offline", "error"),
    [
        ((2,), (), "LEADER_NOT_AVAILABLE"),
        ((2,), (2,), "_NO_LIVE_REPLICA"),
        ((9,), (), "_NO_LIVE_REPLICA"),
    ],
)
def test_without_a_leader_it_is_told_whether_there_could_be_one(
    leader: LeaderOfTwo, in_sync: tuple[int, ...], offline: tuple[int, ...], error: str
) -> None:
    leader.state = PartitionState(-1, 6, (1, 2), in_sync, offline)
    completion, told = tried(4)
    assert (completion.outcome, completion.error) == (Outcome.FAIL, error)
    assert told == {"asked": "answered", "asked_offset": 4, "leader_epoch": 6}


def test_a_cluster_without_metadata_is_silent(leader: LeaderOfTwo) -> None:
    leader.views = False
    completion, told = tried()
    assert completion.outcome is Outcome.INFO
    assert told == {"asked": "silent", "asked_offset": None}
