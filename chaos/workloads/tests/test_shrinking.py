"""Workloads whose logs shrink, start again, or hold positions: what each process may rely on."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from chaos.values.operations import (
    AskEnds,
    CommitPosition,
    DeleteRecords,
    FetchPositions,
    ReadLatest,
    Recreate,
)
from chaos.values.protocols import Assign, Completion, Operation, Outcome, Poll, Record, Send
from chaos.workloads import WORKLOADS
from chaos.workloads.appends_mixed import CODECS, FILLING_MAX

OK = Completion(Outcome.OK)
UNKNOWN = Completion(Outcome.INFO)


def performed(name: str, process: int, count: int, unknown_share: float = 0.0) -> list[Operation]:
    """Return the operations of one process; sends are acknowledged at growing offsets."""
    rng, length = Random("outcomes"), 0
    operations = WORKLOADS[name].operations(process, Random(f"7:workload:{process}"))
    done = [next(operations)]
    for _ in range(count):
        completion = UNKNOWN if rng.random() < unknown_share else OK
        last = done[-1]
        if isinstance(last, Send) and completion is OK:
            records = []
            for value in last.values:
                records.append(Record(last.topic, last.partition, value, length))
                length += 1
            completion = Completion(Outcome.OK, records)
        done.append(operations.send(completion))
    return done


def test_records_are_deleted_below_what_was_acknowledged_in_the_same_partition() -> None:
    done = performed("delete-records", 0, 3_000, unknown_share=0.1)
    pairs = [(a, b) for a, b in pairwise(done) if isinstance(b, DeleteRecords)]
    assert len(pairs) > 30
    assert {b.offset is None for _, b in pairs} == {True, False}
    for sent, deletion in pairs:
        assert isinstance(sent, Send)
        assert sent.partition == deletion.partition


def test_readers_of_logs_that_shrink_begin_where_the_log_does() -> None:
    for name in ("delete-records", "retention", "retention-size"):
        first, *_ = performed(name, WORKLOADS[name].processes - 2, 1)
        assert isinstance(first, Assign)
        assert first.from_log_start


def test_where_logs_shrink_somebody_asks_where_they_begin() -> None:
    for name in ("delete-records", "retention", "retention-size", "transactions"):
        done = performed(name, WORKLOADS[name].processes - 1, 64)
        asked = {each for each in done if isinstance(each, AskEnds)}
        partitions = range(WORKLOADS[name].topics()[0].partitions)
        assert asked == {AskEnds(name, n, by) for n in partitions for by in (False, True)}


def test_a_topic_is_replaced_by_its_only_user_and_read_anew() -> None:
    done = performed("recreate", 2, 1_000, unknown_share=0.05)
    assert sum(isinstance(each, Recreate) for each in done) > 3
    for before, after in pairwise(done):
        if isinstance(before, Recreate):
            # The group's positions are asked for first; again where it is not known to be done.
            assert isinstance(after, FetchPositions | Recreate)
    sent = {each.topic for each in done if isinstance(each, Send)}
    assert (
        sent == {each.topic.name for each in done if isinstance(each, Recreate)} == {"recreate-2"}
    )
    assert any(isinstance(each, Poll) for each in done)


def test_compaction_writes_few_keys_over_and_over_and_deletes_some() -> None:
    sends = [each for each in performed("compaction", 0, 500) if isinstance(each, Send)]
    keys = {key for send in sends for key in send.keys}
    tombstones = [each for send in sends for each in send.tombstones]
    hot = {key for key in keys if key.startswith("key-")}
    assert len(hot) == 12 < len(keys - hot)
    assert 0.05 < sum(tombstones) / len(tombstones) < 0.15
    assert all(len(send.values) == len(send.keys) == len(send.tombstones) for send in sends)


def test_no_two_commits_of_a_position_are_alike() -> None:
    for process in range(1, 7):
        done = performed("offsets", process, 500)
        commits = [each for each in done if isinstance(each, CommitPosition)]
        assert len({commit.offset for commit in commits}) == len(commits) > 100
        assert {commit.offset % 7 for commit in commits} == {process}
        asked = {each.group for each in done if isinstance(each, FetchPositions)}
        assert (
            {"offsets-a", "offsets-b"}
            <= asked
            <= {"offsets-a", "offsets-b", *(f"offsets-rare-{number}" for number in range(4))}
        )


def test_mixed_appends_use_every_codec_and_every_size() -> None:
    workload = WORKLOADS["appends-mixed"]
    assert {workload.settings(process).compression for process in range(6)} == set(CODECS)
    sends = [each for each in performed("appends-mixed", 0, 3_000) if isinstance(each, Send)]
    sizes = [size for send in sends for size in send.filling]
    assert max(sizes) > FILLING_MAX * 0.8
    assert min(sizes) < 10


def test_each_process_of_a_static_group_has_an_id_of_its_own() -> None:
    workload = WORKLOADS["groups-static"]
    groups = [workload.settings(process).group for process in range(3, 7)]
    assert len({group.instance_id for group in groups if group is not None}) == 4


def test_the_writer_of_a_register_writes_only_over_what_it_may_have_written() -> None:
    operations = WORKLOADS["register"].operations(0, Random("a seed"))
    assert next(operations) == ReadLatest("register", 0)
    first = operations.send(OK)  # nobody has written
    assert isinstance(first, Send)
    assert operations.send(UNKNOWN) == ReadLatest("register", 0)
    assert isinstance(operations.send(read(4711)), ReadLatest)  # of somebody else: read again
    second = operations.send(OK)  # the first has not happened, not yet at least
    assert isinstance(second, Send)
    assert operations.send(OK) == ReadLatest("register", 0)
    assert isinstance(operations.send(read(first.values[0])), ReadLatest)  # not over the second
    third = operations.send(read(second.values[0]))
    assert isinstance(third, Send)
    assert len({first.values, second.values, third.values}) == 3


def read(value: int) -> Completion:
    return Completion(Outcome.OK, [Record("register", 0, value, 1)])
