"""Anomalies with one cause become one group, whose story has the facts that the author of a broker
needs first."""

from __future__ import annotations

from random import Random

import pytest

from linearizability.checkers.table import CHECKERS
from linearizability.hand_written.histories import INVALID
from linearizability.hand_written.rows import Row
from linearizability.history import frame
from linearizability.judging import check_frame
from linearizability.measures import availability
from linearizability.opinions.registers import NAME as REGISTERS
from linearizability.stories.families import KINDS, MEANINGS, base_of
from linearizability.stories.grouping import with_groups
from linearizability.stories.mentions import numbers_in
from linearizability.stories.model import Group
from linearizability.verdict import Anomaly, CheckerVerdict, Validity, Verdict, merge

SECOND = 1_000_000_000
KILL = '{"fault": "Kill", "node": "leader", "nodes": [2]}'
HEAL = '{"fault": "Heal", "nodes": []}'


class Made:
    """A history in seconds; every operation takes a tenth of one."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, at_s: float, **row: object) -> int:
        ns = int((100 + at_s) * SECOND)
        own = {"op_id": len(self.rows), "t_invoke_ns": ns, "t_complete_ns": ns + SECOND // 10}
        self.rows.append(own | row)
        return len(self.rows) - 1

    def send(self, at_s: float, value: int, partition: int, offset: int) -> int:
        return self.add(
            at_s,
            f="send",
            process=3,
            client="java",
            acks=-1,
            idempotent=True,
            topic="t",
            partition=partition,
            value=value,
            offset=offset,
        )

    def polled(self, at_s: float, value: int, partition: int, offset: int, process: int = 7) -> int:
        return self.add(
            at_s,
            f="poll",
            process=process,
            client="java",
            topic="t",
            partition=partition,
            value=value,
            offset=offset,
        )

    def ends(
        self, at_s: float, partition: int, high_watermark: int, records: tuple[int, ...] = ()
    ) -> None:
        place: Row = {
            "op_id": len(self.rows),
            "process": 9,
            "client": "raw",
            "topic": "t",
            "final": True,
            "partition": partition,
            "isolation": "read_uncommitted",
        }
        for offset, value in enumerate(records):
            self.add(at_s, f="poll", offset=offset, value=value, record_index=offset, **place)
        whole: Row = {"log_start": 0, "high_watermark": high_watermark, "record_index": 99}
        self.add(at_s, f="read_all", **whole, **place)

    def fault(self, since_s: float, until_s: float) -> None:
        self.add(since_s, f="nemesis", process=-1, detail=KILL)
        self.add(until_s, f="nemesis", process=-1, detail=HEAL)

    def judged(self) -> Verdict:
        events = frame(self.rows)
        return with_groups(check_frame(events), events.lazy())


def test_a_story_says_who_wrote_what_when_where_which_fault_and_what_stands_there_now() -> None:
    made = Made()
    made.send(0.0, 501, 0, 0)
    made.send(1.0, 502, 0, 1)
    seen = made.polled(1.5, 502, 0, 1)
    made.fault(2.0, 3.0)
    made.send(4.0, 503, 0, 1)
    made.polled(5.0, 501, 0, 0, process=8)
    made.polled(5.2, 503, 0, 1, process=8)
    made.ends(7.0, 0, 2, records=(501, 503))
    verdict = made.judged()
    (group,) = verdict.groups
    assert (group.family, group.partitions, group.records) == ("loss", ("t-0",), 1)
    assert group.headline == "1 record of t-0: missing where a whole partition was read"
    assert group.fault == "Kill node 2"
    for words in (
        "Writer 3 (java) sent record 502 to t-0 at 1.000 s (operation 1); the broker acknowledged "
        "it as t-0@1 at 1.100 s.",
        f"Reader 7 (java) was last given it at offset 1 at 1.500 s (operation {seen}).",
        "Then Kill node 2 struck at 2.00 s and lasted until 3.10 s.",
        "t-0@1 now holds record 503, which writer 3 (java) sent at 4.000 s (operation 5,",
    ):
        assert words in group.story
    lost = verdict.checkers["delivery_semantics"].anomalies[0]
    assert lost.context == "t-0@1, sent by writer 3 (java) at 1.000 s, fault: Kill node 2"


def lost_twice(first: tuple[float, int], second: tuple[float, int]) -> Verdict:
    """Two records lost: each sent at a time, to a partition; faults at 2 s and at 12 s."""
    made = Made()
    made.send(first[0], 501, first[1], 0)
    made.fault(2.0, 3.0)
    made.send(second[0], 502, second[1], 5)
    made.fault(12.0, 13.0)
    for partition in {first[1], second[1]}:
        made.ends(20.0, partition, 0)
    return made.judged()


@pytest.mark.parametrize(
    ("first", "second", "groups"),
    [
        ((1.0, 0), (1.5, 0), 1),  # the same fault and partition
        ((1.0, 0), (1.5, 1), 1),  # the same fault
        ((1.0, 0), (8.0, 0), 2),  # another fault
        ((1.0, 0), (8.0, 1), 2),
    ],
)
def test_what_one_fault_destroyed_is_one_group(
    first: tuple[float, int], second: tuple[float, int], groups: int
) -> None:
    verdict = lost_twice(first, second)
    assert len(verdict.groups) == groups
    assert [group.like for group in verdict.groups] == [None, 1][:groups]
    assert sum(group.records for group in verdict.groups) == 2


def test_without_faults_each_partition_is_its_own_group() -> None:
    made = Made()
    for partition in (0, 1):
        made.send(1.0, 501 + partition, partition, 0)
        made.ends(20.0, partition, 0)
    verdict = made.judged()
    assert [group.partitions for group in verdict.groups] == [("t-0",), ("t-1",)]
    assert "The history holds no fault." in verdict.groups[0].story
    assert "The log of t-0 now ends before offset 0" in verdict.groups[0].story


def test_a_loss_stands_before_a_wrong_order_however_often_that_is_seen() -> None:
    made = Made()
    made.send(1.0, 501, 0, 0)
    made.ends(20.0, 0, 0)
    for number in range(5):
        made.polled(2.0 + number, 700 - number, 1, 9 - number)
    verdict = made.judged()
    families = [group.family for group in verdict.groups]
    assert families[0] == "loss"
    assert set(families) > {"loss"}


def broken(name: str, *, repeated: bool) -> list[tuple[str, list[Row]]]:
    """Return the broken histories of a checker: the first with each set of kinds of anomalies, or
    those that repeat such a set."""
    seen: set[tuple[str, ...]] = set()
    found = []
    for title, (rows, anomalies) in INVALID[name].items():
        kinds = tuple(sorted(kind for kind, _ in anomalies))
        if (kinds in seen) is repeated:
            found.append((f"{name}: {title}", rows))
        seen.add(kinds)
    return found


@pytest.mark.sliced(3)
@pytest.mark.parametrize(
    ("name", "repeated"),
    [
        *((name, False) for name in INVALID),
        *(
            pytest.param(name, True, marks=pytest.mark.nightly)
            for name in INVALID
            if broken(name, repeated=True)
        ),
    ],
)
def test_every_anomaly_is_in_one_group_and_says_where(name: str, repeated: bool) -> None:
    """Check broken histories: no anomaly is left out or counted twice, and each one names its
    partition."""
    for title, rows in broken(name, repeated=repeated):
        events = frame(rows)
        verdict = with_groups(check_frame(events), events.lazy())
        told = [
            (checker, position)
            for group in verdict.groups
            for checker, positions in group.members.items()
            for position in positions
        ]
        proven = [
            (checker, position)
            for checker, opinion in verdict.checkers.items()
            if opinion.validity is Validity.INVALID
            for position in range(len(opinion.anomalies))
        ]
        assert sorted(told) == sorted(proven), title
        assert len(told) == sum(group.anomalies for group in verdict.groups)
        assert [group.number for group in verdict.groups] == list(range(1, len(verdict.groups) + 1))
        for _, anomaly in verdict.anomalies:
            if anomaly.scope.get("partition") is not None:
                where = f"{anomaly.scope['topic']}-{anomaly.scope['partition']}"
                assert where in anomaly.context + anomaly.message, title
        for group in verdict.groups:
            assert group.example[1] in group.members[group.example[0]]
            assert all(place in group.story + group.headline for place in group.partitions[:1])


def test_groups_do_not_depend_on_the_order_of_rows() -> None:
    rows, _ = next(iter(INVALID["duplicates"].values()))
    events = frame(rows)
    verdict = with_groups(check_frame(events), events.lazy())
    mixed = events.sample(fraction=1.0, shuffle=True, seed=5)
    assert with_groups(check_frame(events), mixed.lazy()).groups == verdict.groups


def test_every_checker_has_a_family_and_a_meaning() -> None:
    named = {*CHECKERS, availability.NAME, base_of(REGISTERS)}
    assert named == set(MEANINGS)


def test_offsets_and_values_are_told_apart() -> None:
    said = "7 was sent once and is at offsets 90, 93; reads went to offset 181, t-0@12 holds 3"
    assert numbers_in(said) == ([90, 93, 181, 12], [7, 0, 3])
    assert numbers_in("the complete read of offsets 0 to 4 lacks 7") == ([0, 4], [7])
    assert numbers_in(f"value {'9' * 5000} at offset 3") == ([3], [])


def test_kinds_with_a_meaning_of_their_own_occur() -> None:
    occur = {kind for some in INVALID.values() for _, told in some.values() for kind, _ in told}
    assert set(KINDS) <= occur


def test_operations_are_named_where_no_record_is_spoken_of() -> None:
    made = Made()
    of_group: Row = {"topic": "t", "partition": 1, "group": "g", "process": 1}
    made.add(1.0, f="commit_offsets", member_id="m", generation=3, offset=2, **of_group)
    made.add(2.0, f="fetch_offsets", final=True, **of_group)
    (group,) = made.judged().groups
    assert group.headline == "1 anomaly of t-1: a group did not find the offset that it committed"
    assert group.story.endswith("Operations 0 and 1 prove it.")


def test_a_lost_record_is_one_record() -> None:
    made = Made()
    made.send(1.0, 1, 0, 0)
    made.send(2.0, 2, 0, 1)
    made.send(5.0, 3, 0, 1)
    made.ends(20.0, 0, 2, records=(1, 3))
    (group,) = made.judged().groups
    assert group.headline == "1 record of t-0: acknowledged, then lost"


def test_a_verdict_comes_back_as_it_was_written() -> None:
    verdict = lost_twice((1.0, 0), (8.0, 1))
    assert Verdict.from_dict(verdict.as_dict()) == verdict
    assert all(isinstance(group, Group) for group in verdict.groups)


def test_what_the_verdict_does_not_keep_is_said() -> None:
    made = Made()
    made.send(1.0, 501, 0, 0)
    made.ends(20.0, 0, 0)
    events = frame(made.rows)
    verdict = check_frame(events)
    opinion = verdict.checkers["lost_writes"]
    more = CheckerVerdict("lost_writes", Validity.INVALID, 9, opinion.anomalies, 4711)
    told = with_groups(merge([more], engine="local"), events.lazy())
    assert "The verdict keeps 1 of 4,711 anomalies of lost_writes" in told.groups[0].story
    assert told.groups[0].headline.startswith("at least 1 record of t-0: ")


def test_ten_thousand_anomalies_become_a_few_groups() -> None:
    """Half of the records are lost and half stored twice, in ten faults."""
    made, random = Made(), Random(1)
    anomalies: dict[str, list[Anomaly]] = {"lost_writes": [], "duplicates": []}
    for number in range(10_000):
        at_s, partition = number / 100, random.randrange(8)
        value = 5_000_000_000 + number
        send = made.send(at_s, value, partition, number)
        checker, kind = [("lost_writes", "lost-write"), ("duplicates", "duplicate")][number % 2]
        message = f"{value} was acknowledged at offset {number}; reads went to offset 9999 without"
        scope = {"topic": "t", "partition": partition}
        anomalies[checker].append(Anomaly(kind, (send, 10_000), message, scope, "broker"))
    read = {"op_id": 10_000, "process": 9, "final": True, "f": "poll", "topic": "t"}
    for number in range(50_000):
        made.add(200.0, **read, partition=number % 8, value=number, offset=number)
        made.rows[-1]["record_index"] = number
    for number in range(10):
        made.fault(5.0 + 10 * number, 6.0 + 10 * number)
        made.rows[-1]["op_id"], made.rows[-2]["op_id"] = 20_001 + 2 * number, 20_000 + 2 * number
    events = frame(made.rows)
    opinions = [
        CheckerVerdict(name, Validity.INVALID, 10_000, tuple(some), len(some))
        for name, some in anomalies.items()
    ]
    verdict = merge(opinions, engine="local")
    told = with_groups(verdict, events.lazy())
    assert sum(group.anomalies for group in told.groups) == 10_000
    assert len(told.groups) < 40
