"""Measure how long hostile clients make another client wait, and what they leave behind.

The reference is compared with Apache Kafka, both with an authorizer: one reference broker for all
attacks, a fresh Apache broker for each. The bounds apply to the reference only. Waits are
wall-clock times, which a busy machine lengthens, so the load is reported.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos.targets.apache import ApacheKafka
from ci import doctor
from ci.bench import family
from ci.bench.table import Ratio, Table
from ci.errors import UsageError
from ci.places import KAFKA_VERSION
from reference_impl.core.configs.broker import STANDARD_AUTHORIZER
from reference_impl.robustness.hostile import attacks
from reference_impl.robustness.hostile.witness import Place, Witness
from reference_impl.robustness.process import Address, BrokerProcess, RawClient
from reference_impl.robustness.usage import cpu_s, resident_mib

CONFIG = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "allow.everyone.if.no.acl.found": "true",
    **attacks.SHORT_SESSIONS,
}
TOPIC = "hostile"
LOOKED_AT_S = 3.0
"""The seconds between the end of an attack and the measurement of its remaining sockets and
memory."""


@dataclass(frozen=True)
class Attack:
    """The actions of hostile clients, and the largest effect on a well-behaved client and on the
    broker that is allowed."""

    run: Callable[[Address], float | None]
    """A function that performs the attack. It returns the seconds of the slowest answer if that has
    a bound, else None."""
    longest_s: float = 1.0
    p99_s: float = 0.25
    mib: float = 128.0
    cpu_s: float = math.inf
    answer_s: float = math.inf


ATTACKS: Mapping[str, Attack] = {
    "20 clients pipeline 256 KB of Metadata": Attack(lambda at: attacks.pipeline(at, 5.0)),
    "11 KB, 18 million wrong records": Attack(
        lambda at: attacks.produce_each(at, TOPIC, [attacks.wrong_bomb()] * 10), 0.5, answer_s=0.05
    ),
    "300,000 tiny records": Attack(
        lambda at: attacks.produce_each(at, TOPIC, [attacks.right_bomb()] * 3), 0.5
    ),
    "4 KB, one record of 120 MB": Attack(
        lambda at: attacks.produce_each(at, TOPIC, [attacks.large_record()] * 3), 0.5, mib=256
    ),
    "3,000 names of 32 KB": Attack(attacks.long_names, cpu_s=1.0),
    "300 leave while a fetch waits": Attack(lambda at: attacks.leave_waiting(at, TOPIC)),
    "40 unfinished requests of 20 MB": Attack(attacks.unfinished, mib=640),
    "1 MB of names, three APIs": Attack(attacks.many_names, 0.5, mib=384),
    "a topic of 1,000 partitions, and its end": Attack(attacks.many_partitions, 0.5),
    "patterns that backtrack, or are long": Attack(attacks.patterns, 0.5),
    "2 × 1,000 segments, and their end": Attack(attacks.segments, 0.5),
    "1,000 sessions that end together": Attack(attacks.ending_sessions, 0.5),
    "30 fetch sessions of 30,000 partitions": Attack(attacks.sessions, 0.5, mib=384),
}


@dataclass(frozen=True)
class Seen:
    """The figures measured for one attack on one broker."""

    longest_s: float
    p99_s: float
    cpu_s: float
    cpu_after: float
    sockets: int
    mib: float
    answer_s: float | None


@dataclass(frozen=True)
class Target:
    """A running broker and its process."""

    at: Place
    pid: int

    def attacked(self, attack: Attack, canary: str) -> Seen:
        """Attack the broker while a well-behaved client works in the topic `canary`, and return
        what was measured during and after the attack. The longest wait is math.inf if that client
        failed."""
        sockets, mib, used_s = self.sockets(), resident_mib(self.pid), cpu_s(self.pid)
        with Witness(self.at, canary) as witness:
            time.sleep(1)
            answer_s = attack.run(self.at)
            mib_after = resident_mib(self.pid) - mib
            used_s = cpu_s(self.pid) - used_s
            witness.stop()
        longest_s = witness.longest_s
        if witness.failure is not None:  # count a failure as an endless wait
            print(f"  the well-behaved client failed: {witness.failure}", flush=True)
            longest_s = math.inf
        time.sleep(1)
        before_s = cpu_s(self.pid)
        time.sleep(1)
        cpu_after = cpu_s(self.pid) - before_s
        time.sleep(LOOKED_AT_S - 2)
        left = self.sockets() - sockets
        p99_s = witness.percentile_s(0.99)
        return Seen(longest_s, p99_s, used_s, cpu_after, left, mib_after, answer_s)

    def sockets(self) -> int:
        """Return the number of sockets that the process has open."""
        found = 0
        for link in Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                found += os.readlink(link).startswith("socket:")
            except FileNotFoundError:  # closed since the directory was listed
                continue
        return found


def run() -> Table:
    """Measure two rows for each attack: one for the reference, with its bounds, and one for Apache
    Kafka. Return the table. Raise UsageError if Apache Kafka's jars are not here."""
    table = Table(
        (
            *("attack", "broker", "longest wait s", "p99 s", "CPU s", "CPU after", "sockets"),
            *("MiB", "its own answer s"),
        )
    )
    if not doctor.found("kafka-jars"):
        raise UsageError(
            "bench: hostile needs Apache Kafka's jars to compare with; see `touchstone doctor`"
        )
    with (
        tempfile.TemporaryDirectory(prefix="touchstone-bench-") as scratch,
        _reference(Path(scratch) / "reference") as ours,
    ):
        _prepare(ours)
        for number, (name, attack) in enumerate(ATTACKS.items()):
            _add(table, name, attack, ours.attacked(attack, f"canary-{number}"))
            _add_apache(table, attack, Path(scratch) / f"apache-{number}")
            print(f"  {name}: done", flush=True)
    return table


def _prepare(target: Target) -> None:
    attacks.many_topics(target.at)
    with RawClient(target.at) as client:
        client.create_topic(TOPIC)


def _add_apache(table: Table, attack: Attack, directory: Path) -> None:
    """Measure a freshly started Apache Kafka, since some attacks leave a broker that no longer
    answers, and add its row. If the attack cannot be completed, its time is infinite."""
    with _apache(directory) as theirs:
        _prepare(theirs)
        try:
            seen = theirs.attacked(attack, "canary")
        except (OSError, AssertionError) as error:
            print(f"  Apache Kafka did not survive this attack: {error}", flush=True)
            table.add("", "Apache", math.inf, "", "", "", "", "", "")
            return
    table.add(
        "",
        "Apache",
        seen.longest_s,
        seen.p99_s,
        seen.cpu_s,
        seen.cpu_after,
        seen.sockets,
        seen.mib,
        seen.answer_s or "",
    )


def _add(table: Table, name: str, attack: Attack, seen: Seen) -> None:
    table.add(
        name,
        "reference",
        _bounded(seen.longest_s, attack.longest_s),
        _bounded(seen.p99_s, attack.p99_s),
        _bounded(seen.cpu_s, attack.cpu_s),
        Ratio(seen.cpu_after, at_most=0.05),
        Ratio(seen.sockets, at_most=0),
        _bounded(seen.mib, attack.mib),
        "" if seen.answer_s is None else _bounded(seen.answer_s, attack.answer_s),
    )


def _bounded(value: float, at_most: float) -> float | Ratio:
    return value if at_most == math.inf else Ratio(value, at_most=at_most)


@contextmanager
def _reference(data: Path) -> Iterator[Target]:
    data.mkdir()
    options = [word for key, value in CONFIG.items() for word in ("--config", f"{key}={value}")]
    with BrokerProcess(data / "data", *options) as broker:
        yield Target(Place(broker.host, broker.port), broker.process.pid)


@contextmanager
def _apache(directory: Path) -> Iterator[Target]:
    cluster = ApacheKafka(KAFKA_VERSION, full_speed=True).start(directory, config=CONFIG)
    try:
        host, _, port = cluster.bootstrap.rpartition(":")
        yield Target(Place(host, int(port)), family.find("kafka.Kafka"))
    finally:
        cluster.stop()
