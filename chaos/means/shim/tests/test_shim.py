"""Test the shim in Python processes: its ledger, the data that a loss of power leaves, and its
clock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from chaos.means.shim import Shim, why_none
from chaos.means.shim.control import _FAILS, _ONLY_INDEXES_AT, _SYNC_FAILS_AT, _WRITE_FAILS_AT
from chaos.means.shim.ledger import SECTOR_BYTES

pytestmark = pytest.mark.needs("shim")
WAIT_S = 180.0
ONE = b"x" * 100
IMPORTS = "import os, shutil, sys, time; os.chdir(sys.argv[1])\n"
WRITES = """
def put(name, data, sync=False, mode="ab"):
    with open(name, mode) as file:
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())
"""


@pytest.fixture
def shim(tmp_path: Path) -> Iterator[Shim]:
    assert why_none() is None
    made = Shim(tmp_path / "shim", tmp_path / "data")
    yield made
    made.close()


def run(shim: Shim, program: str) -> str:
    """Run a process of the node that ends by itself, and return its output."""
    command = [sys.executable, "-c", IMPORTS + WRITES + program, str(shim.medium.root)]
    done = subprocess.run(
        command,
        env={**os.environ, **shim.environment},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    return done.stdout


def left(shim: Shim) -> dict[str, int]:
    """Return the files that are left, with their sizes."""
    root = shim.medium.root
    files = [path for path in root.rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): path.stat().st_size for path in sorted(files)}


def test_what_was_not_synced_is_gone_and_nothing_else(shim: Shim) -> None:
    run(shim, f"put('a', {ONE!r}, sync=True); put('a', {ONE!r}); put('b', {ONE!r})")
    assert left(shim) == {"a": 200, "b": 100}
    shim.medium.lose_power()
    assert left(shim) == {"a": 100, "b": 0}


def test_what_was_there_before_and_what_a_loss_has_left_are_safe(shim: Shim) -> None:
    (shim.medium.root / "old").write_bytes(ONE)
    shim.medium.settle()
    run(shim, f"put('old', {ONE!r})")
    shim.medium.lose_power()
    shim.medium.lose_power()
    assert left(shim) == {"old": 100}


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("os.rename('a', 'b')", {"b": 100}),
        ("os.mkdir('d'); os.replace('a', 'd/a'); os.rename('d', 'e')", {"e/a": 100}),
        ("os.unlink('a'); put('a', b'new')", {"a": 0}),
        ("os.mkdir('d'); os.replace('a', 'd/a'); shutil.rmtree('d')", {}),
        ("os.truncate('a', 50); put('a', b'y' * 100)", {"a": 50}),
        ("put('a', b'new', sync=True, mode='wb')", {"a": 3}),
    ],
    ids=["renamed", "moved", "made anew", "removed", "cut and written", "overwritten"],
)
def test_the_ledger_follows_names_and_cuts(
    shim: Shim, program: str, expected: dict[str, int]
) -> None:
    run(shim, f"put('a', {ONE!r}, sync=True)\n{program}")
    shim.medium.lose_power()
    assert left(shim) == expected


def test_of_two_syncs_at_once_the_older_may_be_noted_last(shim: Shim) -> None:
    file = shim.medium.root / "a"
    file.write_bytes(2 * ONE)
    with shim.medium.ledger.open("a") as ledger:
        ledger.write(f"S 200 {file}\nS 100 {file}\n")
    shim.medium.lose_power()
    assert left(shim) == {"a": 200}


def test_a_ledger_that_is_read_while_its_node_writes_loses_no_line(shim: Shim) -> None:
    """Half a line is read when it is whole, and what is added meanwhile is not cut off."""
    file = shim.medium.root / "a"
    file.write_bytes(2 * ONE)
    with shim.medium.ledger.open("a", buffering=1) as ledger:
        ledger.write(f"S 100 {file}\nS 2")
        ledger.flush()
        assert [tail.synced for tail in shim.medium.tails()] == [100]
        ledger.write(f"00 {file}\n")
    assert shim.medium.tails() == []
    shim.medium.lose_power()
    assert left(shim) == {"a": 200}


def test_a_file_made_larger_for_a_mapping_is_left_as_it_is(shim: Shim) -> None:
    run(shim, "import mmap; f = open('index', 'w+b'); os.ftruncate(f.fileno(), 4096)")
    shim.medium.lose_power()
    assert left(shim) == {"index": 4096}


def test_names_whose_directory_was_not_synced_are_lost(shim: Shim) -> None:
    run(
        shim,
        f"""
put('named', {ONE!r}, sync=True)
directory = os.open('.', os.O_RDONLY); os.fsync(directory)
put('unnamed', {ONE!r}, sync=True); os.mkdir('d'); put('d/file', {ONE!r}, sync=True)
""",
    )
    shim.medium.lose_names()
    assert left(shim) == {"named": 100}
    assert not (shim.medium.root / "d").exists()


def test_a_torn_tail_keeps_its_first_half_and_has_zeros_for_the_rest(shim: Shim) -> None:
    run(shim, f"put('a', {ONE!r}, sync=True); put('a', {b'y' * 2 * SECTOR_BYTES!r})")
    shim.medium.tear("torn", Random(1))
    data = (shim.medium.root / "a").read_bytes()
    assert len(data) == 100 + 2 * SECTOR_BYTES
    assert data[:100] == ONE
    assert data[100:SECTOR_BYTES] == b"y" * (SECTOR_BYTES - 100)
    assert data[SECTOR_BYTES:].strip(b"\0") == b""


def test_of_reordered_writes_the_largest_is_gone(shim: Shim) -> None:
    run(shim, f"put('log', {ONE!r}); put('index', b'12345678'); put('safe', {ONE!r}, sync=True)")
    shim.medium.tear("reordered", Random(1))
    assert left(shim) == {"index": 8, "log": 0, "safe": 100}


def test_scattered_writes_leave_some_sectors(shim: Shim) -> None:
    run(shim, f"put('log', {b'y' * 64 * SECTOR_BYTES!r})")
    shim.medium.tear("scattered", Random(1))
    data = (shim.medium.root / "log").read_bytes()
    sectors = {data[n : n + SECTOR_BYTES][:1] for n in range(0, len(data), SECTOR_BYTES)}
    assert sectors == {b"y", b"\0"}


def clock(shim: Shim) -> tuple[float, float, float]:
    """Return the seconds by which a process's wall clock is ahead, at first and after a wait of 0.2
    seconds, and the length of that wait by its monotonic clock."""
    said = run(
        shim,
        """
def told(): return time.time(), time.monotonic()
wall, began = told(); time.sleep(0.2); later, ended = told()
print(wall, later, ended - began)
""",
    )
    wall, later, waited = map(float, said.split())
    return wall - time.time(), later - wall, waited


def test_a_clock_jumps_and_is_put_right_and_waits_are_as_long_as_ever(shim: Shim) -> None:
    for by_ms in (3_600_000, -7_200_000):
        shim.set_right()
        shim.jump(by_ms)
        ahead, passed, waited = clock(shim)
        assert abs(ahead - by_ms / 1000) < WAIT_S
        assert passed == pytest.approx(waited, abs=0.1)
    shim.set_right()
    assert abs(clock(shim)[0]) < WAIT_S


def test_a_clock_runs_twice_as_fast_and_keeps_what_it_gained(shim: Shim) -> None:
    shim.skew(1_000_000)
    _, passed, waited = clock(shim)
    assert passed == pytest.approx(2 * waited, rel=0.2)
    time_gained = shim._skewed_ns(time.time_ns())
    shim.skew(0)
    assert shim._offset_ns >= time_gained
    _, passed, waited = clock(shim)
    assert passed == pytest.approx(waited, rel=0.2)


def test_a_slow_sync_takes_longer(shim: Shim) -> None:
    timed = "began = time.monotonic(); put('a', b'1', sync=True); print(time.monotonic() - began)"
    shim.slow_down(300)
    assert float(run(shim, timed)) >= 0.3
    shim.heal()
    assert float(run(shim, timed)) < 0.3


def test_syncs_are_held_while_others_go_on_and_the_held_process_can_be_killed(shim: Shim) -> None:
    assert not shim.hold_syncs()  # there is nobody
    program = IMPORTS + WRITES + f"put('a', {ONE!r}, sync=True)"
    held = subprocess.Popen(
        [sys.executable, "-c", program, str(shim.medium.root)],
        env={**os.environ, **shim.environment},
    )
    try:
        deadline = time.monotonic() + WAIT_S
        while not shim.hold_syncs():
            assert time.monotonic() < deadline
        assert [tail.size for tail in shim.medium.tails()] == [100]
        held.send_signal(signal.SIGKILL)
    finally:
        held.kill()
        held.wait(WAIT_S)
    shim.release_syncs()
    shim.medium.lose_power()
    assert left(shim) == {"a": 0}
    run(shim, f"put('a', {ONE!r}, sync=True)")


FAILING = """
def sync(name):
    descriptor = os.open(name, os.O_RDWR)
    try:
        os.fsync(descriptor); print('synced')
    except OSError as error:
        print(error.strerror)
"""


def failing(shim: Shim, program: str) -> list[str]:
    """Run the program after making its next sync fail. Return its output lines."""
    assert not shim.fail_sync(1)  # nobody syncs within its bound
    _FAILS.pack_into(shim._control, _SYNC_FAILS_AT, 1)
    return run(shim, FAILING + program).splitlines()


def test_what_a_failed_sync_should_have_brought_no_later_one_brings(shim: Shim) -> None:
    said = failing(
        shim,
        f"put('a.log', {ONE!r}); sync('a.log'); sync('a.log'); put('a.log', b'y' * 50, sync=True)",
    )
    assert said == ["Input/output error", "synced"]
    assert shim.medium.has_failed()
    shim.medium.lose_power()
    assert (shim.medium.root / "a.log").read_bytes() == bytes(100) + b"y" * 50
    assert not shim.medium.has_failed()


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("os.truncate('a.log', 0); put('a.log', b'new', sync=True)", {"a.log": b"new"}),
        ("sync('a.log'); os.rename('a.log', 'b.log')", {"b.log": bytes(100)}),
        ("os.unlink('a.log')", {}),
    ],
    ids=["cut and written", "renamed", "removed"],
)
def test_what_a_failed_sync_took_follows_names_and_cuts(
    shim: Shim, program: str, expected: dict[str, bytes]
) -> None:
    failing(shim, f"put('a.log', {ONE!r}); sync('a.log'); {program}")
    shim.medium.lose_power()
    root = shim.medium.root
    assert {path.name: path.read_bytes() for path in root.iterdir()} == expected


def test_one_write_fails_and_those_of_other_files_do_not(shim: Shim) -> None:
    _FAILS.pack_into(shim._control, _ONLY_INDEXES_AT, 1)
    _FAILS.pack_into(shim._control, _WRITE_FAILS_AT, 2)
    said = run(
        shim,
        """
log, index = (os.open(name, os.O_RDWR | os.O_CREAT) for name in ('a.log', 'a.timeindex'))
for number in range(3):
    os.pwrite(log, b'x', number)
    try:
        print(os.pwrite(index, b'x', number))
    except OSError as error:
        print(error.strerror)
""",
    )
    assert said.splitlines() == ["1", "Input/output error", "1"]
