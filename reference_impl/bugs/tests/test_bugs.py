"""Each planted bug breaks what its header says, and nothing where its moment does not come."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.bugs import BUGS, CONFORMANCE, Bug, Kind
from reference_impl.bugs.bug import ClientBug
from reference_impl.bugs.clients import CLIENT_BUGS
from reference_impl.bugs.cluster import BROKER_BUGS
from reference_impl.bugs.producing.acknowledge_before_append import DELAY_MS
from reference_impl.core.rules import Rules
from reference_impl.core.tests.transactional import Producer, transactional_world
from reference_impl.core.tests.world import World
from reference_impl.robustness.transactional_client import read_committed

LOG = f"data/t-0/{0:020d}.log"
IDEMPOTENT: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0}


def world_with(name: str) -> World:
    world = World(rules=BUGS[name].rules, node=BUGS[name].node)
    world.create_topic("t")
    return world


@pytest.mark.parametrize("name", sorted(BUGS))
def test_the_header_says_what_breaks_and_who_catches_it(name: str) -> None:
    text = BUGS[name].rules.__doc__ or ""
    assert all(heading in text for heading in ("Breaks:", "Caught by:", "Within:"))


@pytest.mark.parametrize("name", sorted(BUGS))
def test_the_header_names_whom_the_table_names(name: str) -> None:
    text, bug = BUGS[name].rules.__doc__ or "", BUGS[name]
    assert bug.expected_of
    named = list(bug.caught_by)
    if bug.caught_by:
        named += [f"workload {bug.workload},", *(f"{k}={v}" for k, v in bug.config.items())]
        named.append("any nemesis or none" if bug.nemesis == "none" else bug.nemesis)
    assert [word for word in named if word not in " ".join(text.split())] == []
    assert (CONFORMANCE in text) is bool(bug.cases)


def rules_overridden(rules: type[Rules]) -> set[str]:
    """Return the names of the rules that a bug, or a bug that it extends, replaces."""
    return {name for name in RULES if getattr(rules, name) is not getattr(Rules, name)}


RULES = {
    name
    for chapter in Rules.__bases__
    for name, value in vars(chapter).items()
    if callable(value) and not name.startswith("_")
}


@pytest.mark.parametrize("name", sorted(BUGS))
def test_a_bug_is_in_a_file_of_its_name_in_the_folder_of_its_rule(name: str) -> None:
    rules = BUGS[name].rules
    *_, folder, file = rules.__module__.split(".")
    overridden = rules_overridden(rules)
    chapters = {
        each.__module__.split(".")[-1] for each in Rules.__bases__ if overridden & {*vars(each)}
    }
    assert file == name.replace("-", "_")
    assert folder in chapters, f"{name} overrides rules of {chapters}: move it to such a folder"


@pytest.mark.parametrize("kind", list(Kind))
def test_there_are_three_bugs_of_each_kind_that_a_checker_must_find(kind: Kind) -> None:
    bugs: list[Bug | ClientBug] = [*BROKER_BUGS.values(), *CLIENT_BUGS.values()]
    assert sum(bug.kind is kind and bool(bug.caught_by) for bug in bugs) >= 3


@pytest.mark.parametrize("name", sorted(BUGS))
def test_without_a_crash_nothing_is_lost_or_doubled(name: str) -> None:
    world = world_with(name)
    for sequence, value in enumerate("abcd"):
        row = world.produce("t", value, **IDEMPOTENT, base_sequence=sequence)
        assert (row.error_code, row.base_offset) == (0, sequence)
    world.produce("t", "d", **IDEMPOTENT, base_sequence=3)
    world.wait(DELAY_MS)
    assert world.read_all("t") == list("abcd")


def test_acknowledge_before_append_loses_an_acknowledged_record_at_a_kill() -> None:
    world = world_with("acknowledge-before-append")
    world.produce("t", "a")
    assert world.produce("t", "b").error_code == 0
    world.kill()
    assert world.read_all("t") == ["a"]
    assert world.produce("t", "c").base_offset == 1  # the offset that "b" was promised


def test_acknowledge_before_append_keeps_its_promises_at_a_clean_stop() -> None:
    world = world_with("acknowledge-before-append")
    world.produce("t", "a")
    world.restart()
    assert world.read_all("t") == ["a"]


def test_acknowledge_before_flush_loses_at_a_loss_of_power_what_was_to_be_synced() -> None:
    found = {}
    for rules in (Rules, BUGS["acknowledge-before-flush"].rules):
        world = World(rules=rules, config={"log.flush.interval.messages": "1"})
        world.create_topic("t")
        assert world.produce("t", "a").error_code == 0
        world.kill()
        assert world.read_all("t") == ["a"]  # the operating system has it
        assert world.produce("t", "b").error_code == 0
        world.lose_power()
        found[rules] = world.read_all("t")
    assert found == {Rules: ["a", "b"], BUGS["acknowledge-before-flush"].rules: []}


def test_forget_producer_state_appends_a_retry_twice_after_a_restart() -> None:
    world = world_with("forget-producer-state-on-restart")
    world.produce("t", "a", **IDEMPOTENT, base_sequence=0)
    world.kill()
    world.produce("t", "a", **IDEMPOTENT, base_sequence=0)
    assert world.read_all("t") == ["a", "a"]


def test_keep_torn_tail_takes_a_batch_for_whole_that_has_zeros_in_it() -> None:
    found = {}
    for rules in (Rules, BUGS["keep-torn-tail"].rules):
        world = World(rules=rules)
        world.create_topic("t")
        world.produce("t", "a", **IDEMPOTENT, base_sequence=0)
        log = world.storage.read_file(LOG)
        world.storage.corrupt(LOG, len(log) - 4, bytes(4))
        world.kill()
        found[rules] = world.produce("t", "a", **IDEMPOTENT, base_sequence=0).base_offset
        assert (world.storage.read_file(LOG)[-4:] == log[-4:]) is (rules is Rules)
    assert set(found.values()) == {0}  # appended again, or taken for the torn one


def test_trust_index_gives_offsets_again_when_the_index_outlives_its_batch() -> None:
    found = {}
    for rules in (Rules, BUGS["trust-index-after-crash"].rules):
        world = World(rules=rules, config={"log.index.interval.bytes": "0"})
        world.create_topic("t")
        for value in "abc":
            world.produce("t", value)
        size = len(world.storage.read_file(LOG)) // 3
        world.storage.open(LOG).truncate(2 * size)
        world.kill()
        found[rules] = world.produce("t", "d").base_offset
    assert found == {Rules: 2, BUGS["trust-index-after-crash"].rules: 0}


def test_stale_snapshot_forgets_what_was_appended_after_it() -> None:
    found = {}
    for rules in (Rules, BUGS["stale-snapshot"].rules):
        world = World(rules=rules)
        world.create_topic("t")
        world.produce("t", "a", **IDEMPOTENT, base_sequence=0)
        world.restart()  # leaves a snapshot
        world.produce("t", "b", **IDEMPOTENT, base_sequence=1)
        world.kill()
        world.produce("t", "b", **IDEMPOTENT, base_sequence=1)
        found[rules] = world.read_all("t")
    assert found == {Rules: ["a", "b"], BUGS["stale-snapshot"].rules: ["a", "b", "b"]}


def test_hide_aborted_transactions_delivers_what_was_aborted() -> None:
    bug = BUGS["hide-aborted-transactions"]
    producer = Producer(transactional_world(rules=bug.rules))
    producer.init()
    producer.transaction("a", commit=False)
    producer.transaction("b")
    assert read_committed(producer.world) == ["a", "b"]
