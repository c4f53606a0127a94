"""Let Hypothesis draw sequences of the model's operations, and shorten one that fails."""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from conformance.case import Deviation
from conformance.connection import ConnectionClosed
from conformance.fuzz.model import Play, perform
from conformance.wire import Wire
from reference_impl.wire import Malformed

STEPS_MAX = 25
WRONG = (Deviation, Malformed, ConnectionClosed, OSError)
"""The errors of a step whose target differs from the model, or does not answer."""
TWO, FEW, BACK = st.sampled_from((0, 0, 1)), st.integers(1, 3), st.integers(0, 4)
SHORTENING_S = 30.0


class Machine(RuleBasedStateMachine):
    """One sequence of operations, played while Hypothesis draws it. `run` sets `connect`, which
    returns a wire to the target, and `failed`, which is told of a sequence that fails."""

    connect: Callable[[], Wire]
    failed: Callable[[str, BaseException], None]

    def __init__(self) -> None:
        super().__init__()
        self.wire = type(self).connect()
        self.play = Play(self.wire)
        self.steps: list[str] = []

    def do(self, operation: str, *arguments: int) -> None:
        """Play one operation; remember the sequence if the target differs from the model."""
        self.steps.append(" ".join([operation, *map(str, arguments)]))
        try:
            perform(self.play, operation, *arguments)
        except WRONG as error:
            type(self).failed("; ".join(self.steps), error)
            raise

    @rule(records=FEW)
    def append(self, records: int) -> None:
        self.do("append", records)

    @rule(number=TWO, records=FEW)
    def send(self, number: int, records: int) -> None:
        self.do("send", number, records)

    @rule(number=TWO, back=BACK)
    def send_again(self, number: int, back: int) -> None:
        self.do("send_again", number, back)

    @rule(number=TWO)
    def send_forgotten(self, number: int) -> None:
        self.do("send_forgotten", number)

    @rule(number=TWO, gap=FEW)
    def send_gap(self, number: int, gap: int) -> None:
        self.do("send_gap", number, gap)

    @rule(number=TWO)
    def init(self, number: int) -> None:
        self.do("init", number)

    @rule(number=TWO, records=FEW)
    def transact(self, number: int, records: int) -> None:
        self.do("transact", number, records)

    @rule(number=TWO, commit=TWO)
    def end(self, number: int, commit: int) -> None:
        self.do("end", number, commit)

    @rule(number=TWO)
    def end_stale(self, number: int) -> None:
        self.do("end_stale", number)

    @rule(number=TWO)
    def transact_stale(self, number: int) -> None:
        self.do("transact_stale", number)

    @rule(number=TWO)
    def join(self, number: int) -> None:
        self.do("join", number)

    @rule(number=TWO)
    def sync(self, number: int) -> None:
        self.do("sync", number)

    @rule(number=TWO, behind=TWO)
    def heartbeat(self, number: int, behind: int) -> None:
        self.do("heartbeat", number, behind)

    @rule(number=TWO)
    def heartbeat_of_stranger(self, number: int) -> None:
        self.do("heartbeat_of_stranger", number)

    @rule(number=TWO, offset=st.integers(0, 100), behind=TWO)
    def commit(self, number: int, offset: int, behind: int) -> None:
        self.do("commit", number, offset, behind)

    @rule(number=TWO)
    def commit_of_stranger(self, number: int) -> None:
        self.do("commit_of_stranger", number)

    @rule(number=TWO)
    def leave(self, number: int) -> None:
        self.do("leave", number)

    def teardown(self) -> None:
        self.wire.close()


def run(
    connect: Callable[[], Wire], number: int, sequences: int, shortening_s: float = SHORTENING_S
) -> tuple[int, tuple[str, BaseException] | None]:
    """Play sequences, as many as `sequences`, drawn from the seed `number`. Return how many steps
    were played, and the shortest sequence that failed with its error, or None. shortening_s: how
    long to look for a shorter one once one has failed."""
    steps, shortest = [0], list[tuple[str, BaseException]]()

    until = [math.inf]

    def failed(text: str, error: BaseException) -> None:
        until[0] = min(until[0], time.monotonic() + shortening_s)
        if not shortest or text.count(";") <= shortest[0][0].count(";"):
            shortest[:] = [(text, error)]

    class OfThisRun(Machine):
        def do(self, operation: str, *arguments: int) -> None:
            if time.monotonic() < until[0]:
                steps[0] += 1
                super().do(operation, *arguments)

    OfThisRun.connect, OfThisRun.failed = staticmethod(connect), staticmethod(failed)
    chosen: Any = settings(
        max_examples=sequences,
        stateful_step_count=STEPS_MAX,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    said = io.StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            run_state_machine_as_test(seed(number)(OfThisRun), settings=chosen)
    except WRONG:
        pass
    except Exception:  # Hypothesis says "flaky" where the sequence passes after that time
        if not shortest:
            raise
    return steps[0], shortest[0] if shortest else None
