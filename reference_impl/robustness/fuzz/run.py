"""Run cases until the time is up, or only those that a report names.

touchstone fuzz --seed 7 --seconds 60
touchstone fuzz --seed 7 --first 1234 --cases 1      # one case again
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from uuid import UUID

from reference_impl.robustness.fuzz.broker import Broker, Violation
from reference_impl.robustness.fuzz.cases import (
    KINDS,
    LINGERING_MAX,
    SLOW_SENDERS,
    Case,
    SlowSender,
)
from reference_impl.robustness.fuzz.judge import Judge
from reference_impl.robustness.fuzz.resources import Resources
from reference_impl.robustness.fuzz.values import Values
from reference_impl.robustness.fuzz.world import make_internal_topics, make_topics
from reference_impl.robustness.hostile.witness import Witness

VIOLATIONS_MAX = 20
WAIT_CPU_S_MAX = 1.0
"""The most CPU time in seconds that the broker may use between a request of the witness and its
answer."""
SAMPLES = 10
"""The number of times in a run that the topics and groups are deleted and the memory is measured;
the first time ends the warm-up."""

TOPICS_EVERY = 10
"""The number of cases after which deleted topics are created again."""


@dataclass
class Outcome:
    """The counts of a fuzz run, and the violations that it found."""

    seed: int
    cases: int = 0
    violations: list[str] = field(default_factory=list)
    summary: str = ""
    requests: int = 0
    records_verified: int = 0
    """The number of records that the well-behaved client has verified."""
    apis_unanswered: set[tuple[str, int]] = field(default_factory=set)
    """(name of the listener, API key) of the APIs that never answered."""


@dataclass
class Fuzz:
    """One fuzz run against one broker: its cases, its well-behaved client and its counts."""

    seed: int
    broker: Broker
    witness: Witness
    say: Callable[[str], None]
    judge: Judge = field(init=False)
    resources: Resources = field(init=False)
    slow_senders: list[SlowSender] = field(default_factory=list)
    topic_ids: dict[str, UUID] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.judge = Judge(self.broker)
        self.resources = Resources(self.broker)

    def case(self, number: int) -> None:
        """Run one case, then check the witness. Raise Violation if the broker breaks a rule."""
        if not self.topic_ids or number % TOPICS_EVERY == 0:
            self.topic_ids = make_topics(self.broker)
        random = Random(f"{self.seed}:{number}")
        values = Values(random, self.topic_ids, frozenset({self.witness.topic_id}))
        case = Case(random, self.judge, values)
        if random.random() < SLOW_SENDERS and len(self.slow_senders) < LINGERING_MAX:
            draw = random.choice((case.frames.whole, case.frames.broken))
            self.slow_senders.append(SlowSender(case, draw(case.frames.any_api())))
        kind = random.choices([kind for _, kind in KINDS], [weight for weight, _ in KINDS])[0]
        kind(case)
        self._let_slow_senders_go_on()
        self.broker.new_log_lines()
        self.check_witness()

    def check_witness(self) -> None:
        """Raise Violation if the well-behaved client got an error or waited too long."""
        if self.witness.failure is not None:
            raise Violation(f"the witness: {self.witness.failure}")
        if self.witness.longest_cpu_s > WAIT_CPU_S_MAX:
            raise Violation(
                "the well-behaved client (the witness) waited for a response while the broker used"
                f" {self.witness.longest_cpu_s:.2f} s of CPU time; at most {WAIT_CPU_S_MAX:g} s are"
                " allowed"
            )

    def finish(self) -> None:
        """Complete the requests in flight, and stop the witness. Raise Violation if it has failed,
        or memory or descriptors are left behind."""
        while self.slow_senders:
            self._let_slow_senders_go_on()
        self.witness.stop()
        self.check_witness()
        self.resources.sample()
        self.resources.check()
        self.broker.new_log_lines()

    def _let_slow_senders_go_on(self) -> None:
        for sender in list(self.slow_senders):
            self.slow_senders.remove(sender)  # first: one that raises is not called again
            if sender.go_on():
                self.slow_senders.append(sender)

    def summary(self) -> str:
        """Return the figures of the run in one line."""
        counts = self.judge.counts
        figures = ", ".join(
            f"{counts[name]:,} {name}"
            for name in (
                "requests",
                "answers",
                "connections",
                "closed",
                "closed as malformed",
                "left waiting",
            )
        )
        memory = " ".join(f"{resident >> 20}" for resident in self.resources.resident)
        witness = self.witness
        return (
            f"{figures}; witness: {witness.verified:,} records, longest wait"
            f" {witness.longest_s:.2f} s, {witness.longest_cpu_s:.2f} s of CPU time;"
            f" resident MiB: {memory};"
            f" descriptors: {self.resources.descriptors_before} -> {self.broker.descriptors()};"
            f" {len(self.judge.answered)} of {len(self.broker.apis)} APIs answered"
        )


def fuzz(
    seed: int,
    seconds: float = 60,
    first: int = 0,
    cases: int | None = None,
    say: Callable[[str], None] = print,
) -> Outcome:
    """Attack a fresh broker and return the outcome. A violation does not raise; it is in the
    outcome. first: the number of the first case; cases: how many to run, None for as many as the
    seconds allow."""
    with tempfile.TemporaryDirectory(prefix="touchstone-fuzz-") as scratch:
        broker = Broker(Path(scratch) / "data")
        try:
            try:
                make_internal_topics(broker)
            except (Violation, OSError) as error:
                again = f"reproduce: touchstone fuzz --seed {seed} --cases 1"
                said = f"before the first case: {error}\n  {again}"
                say(said)
                return Outcome(seed, violations=[said])
            with Witness(broker.process, pid=broker.process.process.pid) as witness:
                return _run(Fuzz(seed, broker, witness, say), seconds, first, cases)
        finally:
            broker.close()


def _run(run: Fuzz, seconds: float, first: int, cases: int | None) -> Outcome:
    outcome = Outcome(run.seed)
    started = time.monotonic()
    next_sample_s = seconds / SAMPLES
    run.resources.begin()
    for number in count(first):
        elapsed_s = time.monotonic() - started
        if elapsed_s > seconds if cases is None else outcome.cases >= cases:
            break
        if elapsed_s > next_sample_s:
            next_sample_s += seconds / SAMPLES
            with _noting_violations(run, outcome, None):
                run.resources.sample()
            run.say(f"{elapsed_s:.0f} s, case {number:,}: {run.summary()}")
        with _noting_violations(run, outcome, number):
            run.case(number)
        outcome.cases += 1
        if not run.broker.is_alive or len(outcome.violations) >= VIOLATIONS_MAX:
            return outcome
    with _noting_violations(run, outcome, None):
        run.finish()
    outcome.summary = run.summary()
    outcome.requests = run.judge.counts["requests"]
    outcome.records_verified = run.witness.verified
    outcome.apis_unanswered = run.broker.apis - run.judge.answered.keys()
    return outcome


@contextmanager
def _noting_violations(run: Fuzz, outcome: Outcome, number: int | None) -> Iterator[None]:
    """Record a violation of a case, or of the end of the run, with the command that reproduces
    it."""
    try:
        yield
    except (Violation, OSError) as error:
        text = str(error) if run.broker.is_alive else f"the broker died: {error}"
        if number is not None:
            text += f"\n  reproduce: touchstone fuzz --seed {run.seed} --first {number} --cases 1"
        cases = outcome.cases + (number is not None)
        text += f"\n  with all before it: touchstone fuzz --seed {run.seed} --cases {cases}"
        outcome.violations.append(text)
        run.say(text)
