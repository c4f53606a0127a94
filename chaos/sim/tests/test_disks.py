"""Test the disk of a simulated node: which files and names survive a crash, and what faults
refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from chaos.scenarios.exploration import promised_config
from chaos.sim.cluster.clocks import WallClock
from chaos.sim.disks.file_system import NO_SPACE, Ended, FileSystem, Trap
from chaos.sim.disks.medium import SECTOR_BYTES, Medium
from chaos.sim.invariants.observer import WHOLE_BATCHES
from chaos.sim.target import Sim
from chaos.sim.tests.simulated import simulate
from linearizability.judging import check
from linearizability.verdict import Validity
from reference_impl.bugs import BUGS
from reference_impl.core.storage import File, StorageError

LOG = "data/orders-0/0.log"
OF_DISKS = {
    "keep-torn-tail": WHOLE_BATCHES,
    "trust-failed-syncs": "written-batches-stay",
    "stop-without-sync": None,
    "acknowledge-before-flush": None,
    "trust-index-after-crash": "written-batches-stay",
}
"""Planted bugs, and the invariant that sees each: only clients know that a flush was due."""
SEEDS = 20


def mounted(seed: int = 1) -> tuple[Medium, FileSystem]:
    """Return a medium with one directory, and its file system."""
    medium = Medium()
    medium.add_directory("data")
    medium.settle()
    return medium, FileSystem(medium, Random(seed))


def written(disk: FileSystem, synced: bytes, unsynced: bytes) -> File:
    """Make a log with synced and unsynced bytes, and safe names."""
    disk.make_directory("data/orders-0")
    file = disk.open(LOG, create=True)
    disk.sync_directory("data/orders-0")
    disk.sync_directory("data")
    file.append(synced)
    file.sync()
    file.append(unsynced)
    return file


def after(crash: Callable[[Medium, Random], object]) -> set[bytes]:
    """Return the contents that a file with 4 synced and 4 unsynced bytes has after crashes with
    several seeds."""
    found = set()
    for seed in range(SEEDS):
        medium, disk = mounted()
        written(disk, b"safe", b"lost")
        crash(medium, Random(seed))
        found.add(bytes(medium.files[LOG].data))
    return found


def test_a_loss_of_power_leaves_a_first_part_of_what_was_not_synced() -> None:
    found = after(Medium.lose_power)
    assert {b"safe", b"safelost"} < found
    assert all(b"safelost".startswith(left) and len(left) >= 4 for left in found)


def test_a_torn_write_leaves_zeros_where_sectors_are_missing() -> None:
    medium, disk = mounted()
    written(disk, b"s", b"x" * (4 * SECTOR_BYTES))
    medium.tear("torn", Random(1))
    left = bytes(medium.files[LOG].data)
    assert len(left) == 4 * SECTOR_BYTES + 1
    assert left.rstrip(b"\0") == b"s" + b"x" * (2 * SECTOR_BYTES - 1)


def test_a_reordered_write_loses_the_largest_end_alone() -> None:
    medium, disk = mounted()
    written(disk, b"", b"large end")
    disk.open("data/small", create=True).append(b"small")
    medium.tear("reordered", Random(1))
    assert medium.files[LOG].data == b"" and medium.files["data/small"].data == b"small"


def test_a_name_is_safe_when_its_directory_was_synced() -> None:
    medium, disk = mounted()
    disk.make_directory("data/a")
    disk.open("data/a/file", create=True).sync()
    disk.sync_directory("data/a")
    disk.write_atomically("data/safe", b"1")
    disk.make_directory("data/b")
    disk.open("data/b/file", create=True).sync()
    disk.sync_directory("data/b")
    disk.write_atomically("data/unsafe", b"1", sync=False)
    medium.lose_names()
    assert medium.tree(".") == [".", "data", "data/a", "data/a/file", "data/safe"]


def test_the_latest_names_and_cuts_may_be_taken_back_in_their_order() -> None:
    found = set()
    for seed in range(100):
        medium, disk = mounted()
        file = written(disk, b"four", b"")
        file.truncate(1)
        file.append(b"xy")
        disk.delete("data/none")
        disk.write_atomically("data/new", b"", sync=False)
        disk.delete(LOG)
        medium.lose_power(Random(seed))
        data = bytes(medium.files[LOG].data) if LOG in medium.files else None
        found.add((data, "data/new" in medium.files))
    assert (None, True) in found and (b"four", False) in found and (b"f", True) in found
    assert (None, False) not in found and (b"four", True) not in found


def test_a_rename_that_is_taken_back_gives_both_files_their_names() -> None:
    medium, disk = mounted()
    written(disk, b"old", b"")
    disk.write_atomically("data/other", b"other")
    medium.move("data/orders-0", "data/payments-0")
    medium.move("data/other", "data/payments-0/0.log")
    for take_back in reversed(medium._journal):
        take_back()
    assert medium.tree("data") == ["data", "data/orders-0", LOG, "data/other"]
    assert medium.files[LOG].data == b"old"


def test_what_a_failed_sync_left_behind_never_comes_to_the_medium() -> None:
    medium, disk = mounted()
    file = written(disk, b"safe", b"lost")
    disk.trouble.sync_fails_in = 1
    with pytest.raises(StorageError, match="input/output error"):
        file.sync()
    file.append(b"next")
    file.sync()
    assert file.read(0, 20) == b"safelostnext" and medium.has_failed()
    medium.lose_power(Random(1))
    assert medium.files[LOG].data == b"safe\0\0\0\0next"


def test_a_full_disk_refuses_what_needs_room_and_nothing_else() -> None:
    _, disk = mounted()
    file = written(disk, b"safe", b"more")
    disk.trouble.refusal = NO_SPACE
    with pytest.raises(StorageError) as refused:
        file.append(b"x")
    assert refused.value.no_space
    file.truncate(4)
    file.sync()
    assert file.read(0, 10) == b"safe"


def test_a_process_may_end_at_any_change_of_its_disk() -> None:
    left = []
    for changes in range(3):
        medium, disk = mounted()
        disk.trap = Trap(changes)
        with pytest.raises(Ended):
            written(disk, b"safe", b"lost")
        left.append(medium.tree("data"))
    assert left == [["data"], ["data", "data/orders-0"], ["data", "data/orders-0", LOG]]


def test_what_is_left_of_a_process_changes_nothing() -> None:
    medium, disk = mounted()
    file = written(disk, b"safe", b"")
    disk.unmount()
    file.append(b"late")
    file.truncate(0)
    disk.delete(LOG)
    disk.make_directory("data/late")
    assert medium.tree("data") == ["data", "data/orders-0", LOG]
    assert medium.files[LOG].data == b"safe"


def test_a_clock_jumps_and_gains_and_is_set_right() -> None:
    true_us = 0
    clock = WallClock(lambda: true_us)
    clock.jump(-2)
    clock.skew(100_000)
    true_us = 1_000_000
    assert clock.now_us() == 1_000_000 - 2_000 + 100_000
    clock.skew(0)
    true_us = 2_000_000
    assert clock.now_us() == 2_000_000 - 2_000 + 100_000
    clock.set_right()
    assert clock.now_us() == 2_000_000


@pytest.mark.sliced(2)
@pytest.mark.parametrize("name", OF_DISKS)
def test_a_bug_that_only_a_disk_shows_is_caught(name: str, tmp_path: Path) -> None:
    bug = BUGS[name]
    config = {**promised_config(bug.nemesis), **bug.config}
    for seed in range(1, 9):
        target = Sim(name)
        result = simulate(target, bug.workload, bug.nemesis, seed, tmp_path, config)
        opinions = check(result.directory, grouped=False).checkers
        if any(opinions[one].validity is Validity.INVALID for one in bug.caught_by):
            assert OF_DISKS[name] in {None, *(broken for broken, _ in target.broken)}
            return
    pytest.fail(f"{name}: none of {bug.caught_by} found it in 8 seeds")


@pytest.mark.sliced(2)
@pytest.mark.parametrize(
    ("workload", "nemesis"),
    [
        ("appends-mixed", "torn-writes"),
        ("transactions", "power-loss-all"),
        ("groups", "lost-names"),
        ("compaction", "failed-syncs"),
        ("appends", "disk-full"),
        ("transactions", "disk-dead"),
    ],
)
def test_a_correct_node_survives_its_disk(workload: str, nemesis: str, tmp_path: Path) -> None:
    config = promised_config(nemesis)
    result = simulate(Sim(), workload, nemesis, 2, tmp_path, config)
    verdict = check(result.directory, grouped=False)
    assert result.recovered and verdict.validity is not Validity.INVALID, verdict
