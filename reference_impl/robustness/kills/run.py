"""Kill the broker at random moments while the clients work, and compare at the end.

touchstone kills --kills 200 --seed 1
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from reference_impl.robustness.kills import member, transactions
from reference_impl.robustness.kills.appender import Appender, KeyedAppender
from reference_impl.robustness.kills.station import Broken, Gone, Link, Station
from reference_impl.robustness.kills.worker import Worker
from reference_impl.robustness.transactional_client import CLASSIC, PER_TRANSACTION
from reference_impl.wire import ApiKey, request_definition

LIVES_S = (0.02, 0.6)
"""The range of the seconds that the broker lives after it is ready."""
WHILE_STARTING, STARTS_S = 0.25, (0.0, 0.5)
"""The share of kills during a start, and the range of the seconds after which they come."""
SAID_EVERY = 20
DONE_MIN = 20
"""The operations that each client has done before the end. On a busy machine the broker may die
before it has acknowledged any."""


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
    seed: int, kills: int, bug: str | None = None, say: Callable[[str], None] = print
) -> Outcome:
    """Kill the broker, which has the planted bug if one is named, again and again, and return the
    outcome. A broken promise does not raise; it is in the outcome."""
    outcome = Outcome(seed)
    with tempfile.TemporaryDirectory(prefix="touchstone-kills-") as scratch:
        station = Station(Path(scratch) / "data", bug)
        try:
            _run(station, outcome, kills, say)
        except (Broken, Gone, AssertionError) as error:
            log = (Path(scratch) / "broker.err").read_text(errors="replace").splitlines()[-20:]
            tail = "\n    ".join(log)
            planted = f" --bug {bug}" if bug else ""
            what = "the broker died by itself" if isinstance(error, Gone) else error
            outcome.violations.append(
                f"{what}\n  the broker's log ends with\n    {tail}\n  reproduce:"
                f" touchstone kills --seed {seed} --kills {kills}{planted}"
            )
            say(outcome.violations[-1])
        finally:
            outcome.slowest_start_s = station.slowest_start_s
            station.kill()
    return outcome


def _run(station: Station, outcome: Outcome, kills: int, say: Callable[[str], None]) -> None:
    station.start()
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
    station.stop()
    station.start()
    _verify(station, workers, outcome)


def _live_and_die(station: Station, random: Random) -> None:
    """Let the broker live for a random time, kill it, now and then once more during its start, and
    start it again."""
    until = threading.Event()  # never set: this only waits for some time
    until.wait(random.uniform(*LIVES_S))
    station.kill()
    if random.random() < WHILE_STARTING:
        station.spawn()
        until.wait(random.uniform(*STARTS_S))
        station.kill()
    station.start()


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
    link = Link(station)
    link.reconnect()
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
        for _ in range(2):  # the first request creates the topic, and must be repeated
            answer = link.call(
                ApiKey.FIND_COORDINATOR, 4, key_type=key_type, coordinator_keys=["any"]
            )
        assert answer.coordinators[0].error_code == 0
        _set_config(link, topic, "internal.segment.bytes", "20000")
    link.close()


def _set_config(link: Link, topic: str, name: str, value: str) -> None:
    of = request_definition(ApiKey.INCREMENTAL_ALTER_CONFIGS)
    config = of.struct("AlterableConfig", name=name, config_operation=0, value=value)
    resource = of.struct(
        "AlterConfigsResource", resource_type=2, resource_name=topic, configs=[config]
    )
    answer = link.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource])
    assert answer.responses[0].error_code == 0, answer


def _verify(station: Station, workers: Sequence[Worker], outcome: Outcome) -> None:
    link = Link(station)
    link.reconnect()
    for worker in workers:
        outcome.counts[worker.name] = worker.verify(link)
    link.close()
