"""Random transactions, and kills between any two writes to the disk: all of a transaction, or none.

After the kill the producer repeats its unanswered requests, as a client does. Or it is gone, and a
successor with the same transactional id finds all of the transaction, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pytest

from reference_impl.core.tests.transactional import Producer, transactional_world
from reference_impl.core.tests.world import World
from reference_impl.robustness.transactional_client import (
    CLASSIC,
    PER_TRANSACTION,
    committed_offset,
    read_committed,
)
from reference_impl.wire import ErrorCode

PARTITIONS = (0, 1)
STEPS = 80


class Killed(Exception):
    """The process is gone, before a write."""


class Fate:
    """Kills the process of a world before a write that chance has chosen."""

    def __init__(self, world: World, random: Random) -> None:
        self.kills = 0
        self._world = world
        self._random = random
        self._writes_left = random.randrange(20)
        self._is_armed = True
        world.storage.charge = self._before_write  # type: ignore[method-assign]

    def _before_write(self, path: str, size: int) -> None:
        if not self._is_armed:
            return
        if self._writes_left == 0:
            self._is_armed = False
            raise Killed(path)
        self._writes_left -= 1

    def ask(self, question: Callable[[], int], *, gives_up: bool = False) -> bool:
        """Ask until the answer is NONE, through kills and aborts in progress, or give up after a
        kill without knowing the outcome."""
        for _ in range(10):
            try:
                code = question()
            except Killed:
                self._again()
                if gives_up:
                    return False
                continue
            if code == ErrorCode.NONE:
                return True
            assert code == ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode(code).name
        raise AssertionError("never answered")

    def _again(self) -> None:
        """Start a new process, which is sometimes killed while it starts."""
        self.kills += 1
        self._is_armed = self._random.random() < 0.3
        self._writes_left = self._random.randrange(6)
        try:
            self._world.kill()
        except Killed:
            self.kills += 1
            self._world.kill()
        self._is_armed = True
        self._writes_left = self._random.randrange(20)


@dataclass(frozen=True)
class Ended:
    """A transaction; `committed` is None where nobody was told."""

    values: frozenset[str]
    offset: int | None
    committed: bool | None


class Life:
    """One producer with a group of its own, and what of it must be seen in the end."""

    def __init__(self, world: World, fate: Fate, name: str, versions: dict[str, int]) -> None:
        self.fate, self.random = fate, Random(f"{name}-values")
        self.producer = Producer(world, name, versions)
        self.ended: list[Ended] = []
        self._count = 0
        self._added: set[int] = set()
        self._values: set[str] = set()
        self._offset: int | None = None
        fate.ask(self._init)

    @property
    def group(self) -> str:
        """The producer's own group, so that its offsets are its own."""
        return f"group-{self.producer.name}"

    @property
    def is_open(self) -> bool:
        """Return whether a transaction is undecided."""
        return bool(self._values) or self._offset is not None

    def _init(self) -> int:
        code: int = self.producer.init().error_code
        return code

    def write(self) -> None:
        """Write one more value somewhere."""
        index, value = self.random.choice(PARTITIONS), f"{self.producer.name}{self._count}"
        self._count += 1
        if self.producer.versions is CLASSIC and index not in self._added:
            self.fate.ask(lambda: self.producer.add("t", index))
        self._added.add(index)
        self.fate.ask(lambda: int(self.producer.send(value, partition=index).error_code))
        self._values.add(value)

    def commit_offset(self) -> None:
        """Move the group's offset on."""
        wanted = self._count
        if self.producer.versions is CLASSIC:
            self.fate.ask(lambda: self.producer.add_offsets(self.group))
        self.fate.ask(lambda: self.producer.commit_offset(wanted, self.group))
        self._offset = wanted

    def end(self, *, commit: bool) -> None:
        """Decide; sometimes without staying to hear the answer."""
        gives_up = bool(self._values) and self.random.random() < 0.5
        is_known = self.fate.ask(
            lambda: int(self.producer.end(commit=commit).error_code), gives_up=gives_up
        )
        self._ends(commit if is_known else None)
        if not is_known:
            self.fate.ask(self._init)

    def begin_again(self) -> None:
        """Start a new producer with the same id, which aborts what is open."""
        self.fate.ask(self._init)
        self._ends(commit=False)

    def _ends(self, commit: bool | None) -> None:
        self.ended.append(Ended(frozenset(self._values), self._offset, commit))
        self._values, self._offset, self._added = set(), None, set()

    def check(self, seen: set[str], offset: int) -> None:
        """Require that committed values are there, aborted ones are not, and nothing by halves."""
        expected_offset = -1
        for each in self.ended:
            found = each.values & seen
            committed = bool(found) if each.committed is None else each.committed
            assert found == (each.values if committed else set())
            if committed and each.offset is not None:
                expected_offset = each.offset
        assert offset == expected_offset


def step(life: Life, random: Random) -> None:
    """Do something that a producer does."""
    draw = random.random()
    if draw < 0.55 or not life.is_open:
        life.write()
    elif draw < 0.7:
        life.commit_offset()
    elif draw < 0.95:
        life.end(commit=random.random() < 0.6)
    else:
        life.begin_again()


@pytest.mark.seeds(12)
def test_all_of_a_transaction_or_none(seed: int) -> None:
    random = Random(f"{seed}:transactions")
    world = transactional_world()
    fate = Fate(world, random)
    lives = [
        Life(world, fate, "a", CLASSIC),
        Life(world, fate, "b", PER_TRANSACTION),
        Life(world, fate, "c", random.choice((CLASSIC, PER_TRANSACTION))),
    ]
    for _ in range(STEPS):
        step(random.choice(lives), random)
    for life in lives:
        if life.is_open:
            life.end(commit=random.random() < 0.5)
    assert fate.kills > 3
    seen = [read_committed(world, partition=index) for index in PARTITIONS]
    everything = [value for values in seen for value in values]
    assert len(everything) == len(set(everything))
    for index, values in enumerate(seen):
        in_order = [value for value in world.read_all("t", index) if value in set(values)]
        assert values == in_order
        row = world.fetch("t", 0, index)
        assert row.last_stable_offset == row.high_watermark
    for life in lives:
        offset, code = committed_offset(world, life.group, stable=True)
        assert code == ErrorCode.NONE
        life.check(set(everything), offset)
