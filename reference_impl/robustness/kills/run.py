"""Kill the broker, or one of several nodes, at random moments while the clients work, and compare
at the end.

touchstone kills --kills 200 --seed 1
touchstone kills --kills 30 --seed 1 --nodes 3
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from reference_impl.robustness.kills import member, transactions
from reference_impl.robustness.kills.appender import Appender, KeyedAppender
from reference_impl.robustness.kills.station import Broken, Gone, Link, Station
from reference_impl.robustness.kills.worker import Worker
from reference_impl.robustness.process import PATIENCE_S
from reference_impl.robustness.transactional_client import CLASSIC, PER_TRANSACTION
from reference_impl.wire import ApiKey, ErrorCode, request_definition

LIVES_S = (0.02, 0.6)
"""The range of the seconds that the broker lives after it is ready."""
CALM_S, AWAY_S = (0.3, 3.0), (0.0, 4.0)
"""The ranges of the seconds for which all of several nodes are up, and for which one is away: some
sessions end meanwhile, and some do not."""
WHILE_STARTING, STARTS_S = 0.25, (0.0, 0.5)
"""The share of kills during a start, and the range of the seconds after which they come."""
SAID_EVERY = 20
DONE_MIN = 20
"""The operations that each client has done before the end. On a busy machine the broker may die
before it has acknowledged any."""
SETTLED_S = 30.0
"""The longest time until several nodes show everything: a new leader's high watermark lags behind
at first, and so do the markers that end transactions."""


@dataclass
class Outcome:
    """The counts of a run, and the violations that it found."""

    seed: int
    kills: int = 0
    violations: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    slowest_start_s: float = 0.0

    def summary(self) -> str:
        """Return the counts as text."""
        verified = ", ".join(f"{name} {count:,}" for name, count in self.counts.items())
        return (
            f"{self.kills} kills, {len(self.violations)} violations; verified: {verified};"
            f" slowest start {self.slowest_start_s:.2f} s"
        )


def run_kills(
    seed: int,
    kills: int,
    bug: str | None = None,
    nodes: int = 1,
    say: Callable[[str], None] = print,
) -> Outcome:
    """Kill the broker again and again, or a random one of several nodes, and return the outcome. A
    broken promise does not raise; it is in the outcome. bug: the planted bug of the nodes."""
    outcome = Outcome(seed)
    with tempfile.TemporaryDirectory(prefix="touchstone-kills-") as scratch:
        station = Station(Path(scratch), nodes, bug)
        try:
            _run(station, outcome, kills, say)
        except (Broken, Gone, AssertionError) as error:
            log = (Path(scratch) / "broker.err").read_text(errors="replace").splitlines()[-20:]
            tail = "\n    ".join(log)
            planted = (f" --nodes {nodes}" if nodes > 1 else "") + (f" --bug {bug}" if bug else "")
            what = "the broker died by itself" if isinstance(error, Gone) else error
            outcome.violations.append(
                f"{what}\n  the broker's log ends with\n    {tail}\n  reproduce:"
                f" touchstone kills --seed {seed} --kills {kills}{planted}"
            )
            say(outcome.violations[-1])
        finally:
            outcome.slowest_start_s = station.slowest_start_s
            station.kill(*station.nodes)
    return outcome


def _run(station: Station, outcome: Outcome, kills: int, say: Callable[[str], None]) -> None:
    station.start(*station.nodes)
    _make_topics(station)
    workers = _workers(station, outcome.seed)
    for worker in workers:
        worker.start()
    random = Random(f"{outcome.seed}:moments")
    for _ in range(kills):
        _live_and_die(station, random)
        outcome.kills += 1
        for worker in workers:
            worker.check()
        if outcome.kills % SAID_EVERY == 0:
            say(f"{outcome.kills} kills; slowest start {station.slowest_start_s:.2f} s")
    for worker in workers:
        worker.work_until(DONE_MIN)
    for worker in workers:
        worker.end()
        worker.check()
    _verify(station, workers, outcome)
    for node in station.nodes:
        station.stop(node)
        station.start(node)
    _verify(station, workers, outcome)


def _live_and_die(station: Station, random: Random) -> None:
    """Let the broker live for a random time, kill it, now and then once more during its start, and
    start it again. Of several nodes, choose one at random, which stays away for a moment."""
    until = threading.Event()  # never set: this only waits for some time
    until.wait(random.uniform(*(CALM_S if station.is_cluster else LIVES_S)))
    node = random.choice(station.nodes)
    station.kill(node)
    if station.is_cluster:
        until.wait(random.uniform(*AWAY_S))
    if random.random() < WHILE_STARTING:
        station.spawn(node)
        until.wait(random.uniform(*STARTS_S))
        station.kill(node)
    station.start(node)


def _workers(station: Station, seed: int) -> list[Worker]:
    def stream(name: str) -> Random:
        return Random(f"{seed}:{name}")

    return [
        Appender(station, "appended", stream("appended")),
        KeyedAppender(station, "compacted", stream("compacted")),
        transactions.Transactions(station, "classic", stream("classic"), CLASSIC),
        transactions.Transactions(station, "newer", stream("newer"), PER_TRANSACTION),
        member.Member(station, "group", stream("group")),
    ]


def _make_topics(station: Station) -> None:
    link = Link(station, min)
    link.create_topic("appended", internal_segment_bytes="20000", index_interval_bytes="500")
    link.create_topic(
        "compacted",
        internal_segment_bytes="4000",
        cleanup_policy="compact",
        min_cleanable_dirty_ratio="0.01",
        delete_retention_ms="500",
    )
    link.create_topic(transactions.TOPIC, 2, internal_segment_bytes="20000")
    link.create_topic(member.TOPIC)
    for key_type, topic in enumerate(("__consumer_offsets", "__transaction_state")):
        _wait_for_coordinator(link, key_type)
        _set_config(link, topic, "internal.segment.bytes", "20000")
    link.close()


def _wait_for_coordinator(link: Link, key_type: int) -> None:
    """Ask for a coordinator until there is one: the first request creates its topic. Raise Broken
    if that takes far too long."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with suppress(Gone):
            keys = {"key_type": key_type, "coordinator_keys": ["any"]}
            answer = link.call(ApiKey.FIND_COORDINATOR, 4, **keys)
            if answer.coordinators[0].error_code == ErrorCode.NONE:
                return
    raise Broken(f"there is no coordinator of kind {key_type} within {PATIENCE_S} s")


def _set_config(link: Link, topic: str, name: str, value: str) -> None:
    of = request_definition(ApiKey.INCREMENTAL_ALTER_CONFIGS)
    config = of.struct("AlterableConfig", name=name, config_operation=0, value=value)
    resource = of.struct(
        "AlterConfigsResource", resource_type=2, resource_name=topic, configs=[config]
    )
    answer = link.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource])
    assert answer.responses[0].error_code == 0, answer


def _verify(station: Station, workers: Sequence[Worker], outcome: Outcome) -> None:
    link = Link(station, min)
    for worker in workers:
        outcome.counts[worker.name] = _verified(worker, link, station.is_cluster)
    link.close()


def _verified(worker: Worker, link: Link, is_cluster: bool) -> int:
    """Return what the worker has verified; let several nodes settle for SETTLED_S. Raise Broken or
    Gone as the worker's last attempt does."""
    deadline = time.monotonic() + (SETTLED_S if is_cluster else 0.0)
    while True:
        try:
            return worker.verify(link)
        except (Broken, Gone):
            if time.monotonic() >= deadline:
                raise
            link.reconnect()
