"""Test that a run removes only its own topics and groups from somebody else's cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.clients import payload
from chaos.clients.wire import group_offsets, own_topics
from chaos.clients.wire.admin import Admin
from chaos.clients.wire.own_topics import GRACE_S, OwnTopics, sweep
from chaos.clients.wire.raw_producer import RawProducer
from chaos.clients.wire.wire_link import WireCluster
from chaos.means import guard
from chaos.means.real_world import REAL_WORLD, run
from chaos.targets import parse_target
from chaos.values.operations import CommitPosition
from chaos.values.protocols import ClientSettings, Outcome, Send, TopicSpec

WAIT_S = 30.0


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    cluster = parse_target("reference").start(tmp_path_factory.mktemp("cluster"))
    yield cluster.bootstrap
    cluster.stop()


def topics(bootstrap: str) -> set[str]:
    cluster = WireCluster(REAL_WORLD, bootstrap)
    try:
        return set(run(cluster.topic_ids()))
    finally:
        cluster.close()


def make(bootstrap: str, nonce: bytes, *names: str, by: bytes | None = None) -> list[str]:
    """Create topics with one record each, which contains the nonce of the run, or `by` if that is
    given. Return their names."""
    made = [f"touchstone-{nonce.hex()}-{name}" for name in names]
    admin = Admin(REAL_WORLD, bootstrap)
    run(admin.create_topics([TopicSpec(name, 1) for name in made], 1, WAIT_S))
    admin.close()
    producer = RawProducer(REAL_WORLD, bootstrap, ClientSettings(), by or nonce)
    for name in made:
        assert run(producer.perform(Send(name, 0, (1,)))).outcome is Outcome.OK
    run(producer.close())
    return made


def commit(bootstrap: str, group: str, topic: str) -> None:
    cluster = WireCluster(REAL_WORLD, bootstrap)
    deadline = time.monotonic() + WAIT_S
    while True:
        done = run(group_offsets.commit(cluster, CommitPosition(group, topic, 0, 1)))
        if done.outcome is Outcome.OK:
            cluster.close()
            return
        assert time.monotonic() < deadline, done.detail


def test_a_run_takes_away_its_topics_groups_and_marker_and_nothing_else(bootstrap: str) -> None:
    mine, other = payload.nonce_of("mine"), payload.nonce_of("other")
    own = OwnTopics(bootstrap, mine, 5.0)
    run(own.mark(1))
    (first, _) = make(bootstrap, mine, "appends", "second")
    theirs = make(bootstrap, other, "appends")
    commit(bootstrap, f"touchstone-{mine.hex()}-g", first)
    commit(bootstrap, "touchstone-g", first)
    removed = run(own.remove())
    assert not removed.failures
    assert len(removed.names) == 4
    assert topics(bootstrap) - {"__consumer_offsets"} == set(theirs)
    cluster = WireCluster(REAL_WORLD, bootstrap)
    broker = next(iter(run(cluster.view([])).brokers.values()))
    groups = run(own_topics._groups(cluster, broker))
    cluster.close()
    assert groups == ["touchstone-g"]


def test_a_run_with_a_prefix_takes_away_only_what_begins_with_it(bootstrap: str) -> None:
    mine, before = payload.nonce_of("with prefix"), topics(bootstrap)
    own = OwnTopics(bootstrap, mine, 5.0, records_bear_it=False, prefix="team.a-")
    run(own.mark(1))
    assert topics(bootstrap) - before == {f"team.a-touchstone-{mine.hex()}-marker"}
    (without,) = make(bootstrap, mine, "appends")
    commit(bootstrap, f"team.a-touchstone-{mine.hex()}-g", without)
    removed = run(own.remove())
    assert not removed.failures
    assert len(removed.names) == 2
    assert topics(bootstrap) - before - {"__consumer_offsets"} == {without}


def test_a_sweep_takes_away_only_ended_runs_with_its_prefix(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_topics, "_is_over", lambda _marker: True)
    made, before = set(), topics(bootstrap)
    for prefix in ("", "a.", "a.b-"):
        nonce = payload.nonce_of(f"run {prefix}")
        run(OwnTopics(bootstrap, nonce, 5.0, False, prefix).mark(1))
        made.add(f"{prefix}touchstone-{nonce.hex()}-marker")
    assert topics(bootstrap) - before == made
    removed = run(sweep(bootstrap, prefix="a."))
    assert [name.partition("touchstone")[0] for name in removed.names] == ["a."]
    assert topics(bootstrap) - before == made - set(removed.names)
    run(sweep(bootstrap))
    assert {name[:4] for name in topics(bootstrap) - before} == {"a.b-"}


def test_a_topic_with_records_of_others_stays_and_is_told(bootstrap: str) -> None:
    mine = payload.nonce_of("with others")
    own = OwnTopics(bootstrap, mine, 5.0)
    run(own.mark(1))
    (name,) = make(bootstrap, mine, "appends", by=b"somebody")
    removed = run(own.remove())
    assert removed.failures == [f"{name}: partition 0 holds a record of others; check it by hand"]
    assert name in topics(bootstrap)
    assert f"touchstone-{mine.hex()}-marker" in topics(bootstrap)


def test_where_topics_may_not_be_deleted_they_are_told_at_once(tmp_path: Path) -> None:
    cluster = parse_target("reference").start(tmp_path, 1, {"delete.topic.enable": "false"})
    try:
        mine = payload.nonce_of("kept")
        own = OwnTopics(cluster.bootstrap, mine, 5.0, records_bear_it=False)
        run(own.mark(1))
        names = make(cluster.bootstrap, mine, *"abcde")
        began = time.monotonic()
        removed = run(own.remove(WAIT_S))
        assert time.monotonic() - began < WAIT_S / 2
        first = ", ".join(names[:3])
        why = "delete.topic.enable is false on the cluster: set it to true, then delete it by hand"
        assert removed.left() == [f"{first} and 2 more: {why}"]
    finally:
        cluster.stop()


def test_topics_without_a_marker_are_not_touched(bootstrap: str) -> None:
    mine = payload.nonce_of("unmarked")
    (name,) = make(bootstrap, mine, "appends")
    run(sweep(bootstrap))
    assert run(OwnTopics(bootstrap, mine, 5.0).remove()).failures
    assert name in topics(bootstrap)


def test_a_marker_of_others_proves_nothing(bootstrap: str) -> None:
    mine = payload.nonce_of("forged")
    names = make(bootstrap, mine, "appends", "marker", by=b"somebody")
    run(sweep(bootstrap))
    assert set(names) <= topics(bootstrap)


def test_the_next_run_removes_what_a_killed_one_left_and_not_what_a_living_one_has(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    living, dead = payload.nonce_of("living"), payload.nonce_of("dead")
    run(OwnTopics(bootstrap, living, 5.0).mark(1))
    alive = make(bootstrap, living, "appends")
    child = (
        "from chaos.clients.wire.own_topics import OwnTopics\n"
        "from chaos.means.real_world import run\n"
        f"run(OwnTopics({bootstrap!r}, {dead!r}, 5.0).mark(1))\n"
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", child], timeout=WAIT_S, check=False)
    assert ended.returncode == -9
    make(bootstrap, dead, "appends")
    removed = run(sweep(bootstrap))
    left = {f"touchstone-{dead.hex()}-{name}" for name in ("appends", "marker")}
    assert left <= set(removed.names)
    assert not left & topics(bootstrap)
    assert set(alive) <= topics(bootstrap)


@pytest.mark.parametrize(
    ("changed", "is_over"),
    [
        ({}, False),
        ({"owner": "1-1-1"}, False),  # of another namespace, where nobody can look
        ({"boot": "another machine"}, False),
        ({"boot": "another machine", "until_s": 1.0}, True),
        ({"until_s": 1.0}, True),
        ({"touchstone": 2, "until_s": 1.0}, False),
        ({"until_s": "soon", "boot": "another"}, False),
        ({"owner": None}, False),
        ({"owner": "x"}, False),
    ],
)
def test_when_a_run_is_over(changed: dict[str, object], is_over: bool) -> None:
    marker = {
        "touchstone": 1,
        "boot": own_topics._boot_id(),
        "owner": guard.owner_tag(os.getpid()),
        "until_s": time.time() + GRACE_S,
    }
    assert own_topics._is_over(json.loads(json.dumps(marker | changed))) is is_over


def test_the_machine_is_known_by_its_boot() -> None:
    assert own_topics._boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
