"""Test that each fault of a disk has its effect on a writer in another process, and heals."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaos.means import disks, leftovers, processes
from chaos.means.disks import Disk, DiskError

pytestmark = pytest.mark.needs("root", "loop")
WAIT_S = 180.0
SIZE_BYTES = 64 << 20
PAGE = b"x" * 4096
WRITER = "import os, sys; open(sys.argv[1], 'wb').write(b'written')"
HANGING_AND_COUNTING = """
import os, sys, threading
def hang():
    file = os.open(sys.argv[1], os.O_WRONLY)
    os.write(file, b'written')
threading.Thread(target=hang).start()
while True: open(sys.argv[2], 'ab', 0).write(b'1')
"""
OWNER = """
import signal
from chaos.means.disks import Disk
disk = Disk.make("left", 64 << 20)
print(disk.mount_point, flush=True)
disk.freeze()
print("frozen", flush=True)
signal.pause()
"""


def test_who_may_not_mount_is_told_so() -> None:
    program = (
        "import os; os.setuid(65534); from chaos.means.disks import why_none; print(why_none())"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import chaos.means.disks; {program}"],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    assert "need the right to mount (CAP_SYS_ADMIN); run as root" in done.stdout


@pytest.fixture
def disk() -> Iterator[Disk]:
    made = Disk.make("probe", SIZE_BYTES)
    try:
        yield made
    finally:
        made.thaw()
        made.remove()


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {WAIT_S:.0f} s: {what}"
        time.sleep(0.02)


def is_mounted(mount_point: Path) -> bool:
    return str(mount_point) in Path("/proc/self/mounts").read_text()


def in_another_namespace() -> subprocess.Popen[bytes]:
    """Start a process with copies of all mounts, which ends when it reads a line."""
    holder = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", "echo here; read end"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"here\n"
    return holder


def state_of(process: subprocess.Popen[bytes]) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def states_of_threads(pid: int) -> list[str]:
    stats = Path(f"/proc/{pid}/task").glob("*/stat")
    return [path.read_text().rpartition(")")[2].split()[0] for path in stats]


def test_a_write_to_a_frozen_disk_hangs_until_the_thaw(disk: Disk) -> None:
    file = disk.mount_point / "file"
    disk.freeze()
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(file)])
    try:
        wait_until(lambda: state_of(process) == "D", "the writer hangs in the kernel")
        assert process.poll() is None
    finally:
        disk.thaw()
    assert process.wait(WAIT_S) == 0
    assert file.read_bytes() == b"written"


def test_a_process_is_halted_only_when_its_last_system_call_has_ended(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process counts as halted only when its last system call has ended: a thread that hangs on a
    disk handles no SIGSTOP, even if it is the one that got the signal."""
    counted = tmp_path / "counted"
    (disk.mount_point / "file").write_bytes(b"")
    disk.freeze()
    child = processes.start(
        [sys.executable, "-c", HANGING_AND_COUNTING, str(disk.mount_point / "file"), str(counted)],
        name="busy",
        log=tmp_path / "log",
    )
    try:
        wait_until(lambda: counted.exists() and counted.stat().st_size > 0, "it counts")
        wait_until(lambda: "D" in states_of_threads(child.pid), "a thread waits for the disk")
        with monkeypatch.context() as short:
            short.setattr(processes, "HALT_TIMEOUT_S", 0.5)
            with pytest.raises(TimeoutError, match=r"has not stopped .* it waits in the kernel"):
                processes.halt([child])
        thawing = threading.Timer(0.5, disk.thaw)
        thawing.start()
        processes.halt([child])
        thawing.join()
        at_once = counted.stat().st_size
        assert (disk.mount_point / "file").read_bytes() == b"written"
        time.sleep(0.2)
        assert counted.stat().st_size == at_once
        child.resume()
        wait_until(lambda: counted.stat().st_size > at_once, "it counts on")
    finally:
        disk.thaw()
        child.kill()


def test_freezing_twice_and_thawing_twice_are_harmless(disk: Disk) -> None:
    disk.freeze()
    disk.freeze()
    disk.thaw()
    disk.thaw()
    (disk.mount_point / "file").write_bytes(PAGE)


def test_a_full_disk_takes_no_page_more_until_there_is_room(disk: Disk) -> None:
    file = disk.mount_point / "file"
    file.write_bytes(b"")
    disk.fill()
    with pytest.raises(OSError, match="No space left") as refused, file.open("ab") as writer:
        for _ in range(64):
            writer.write(PAGE)
            writer.flush()
    assert refused.value.errno == errno.ENOSPC
    disk.make_room()
    file.write_bytes(PAGE * 64)


def test_a_loss_of_power_takes_what_was_not_synced_and_nothing_else(disk: Disk) -> None:
    synced, unsynced = disk.mount_point / "synced", disk.mount_point / "unsynced"
    unsynced.write_bytes(b"")
    disk.sync()
    for path, sync in ((synced, True), (unsynced, False)):
        with path.open("wb") as writer:
            writer.write(PAGE)
            writer.flush()
            if sync:
                os.fsync(writer.fileno())
    disk.cut_power()
    with pytest.raises(OSError, match="Input/output error"):
        (disk.mount_point / "late").write_bytes(PAGE)
    disk.replug()
    assert synced.read_bytes() == PAGE
    assert unsynced.read_bytes() == b""
    unsynced.write_bytes(PAGE)  # it is whole again


def test_a_disk_is_mounted_again_only_when_no_other_namespace_holds_it(disk: Disk) -> None:
    """A container that is just being started may hold the mount; a new mount would then give the
    same dead file system."""
    holder = in_another_namespace()
    disk.cut_power()
    replugged = threading.Thread(target=disk.replug)
    replugged.start()
    wait_until(lambda: not is_mounted(disk.mount_point), "it is unmounted here")
    assert replugged.is_alive()
    holder.communicate(b"\n", WAIT_S)
    replugged.join(WAIT_S)
    (disk.mount_point / "file").write_bytes(PAGE)


def test_a_disk_that_another_namespace_holds_for_long_is_named(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.means.disks.RELEASE_TIMEOUT_S", 0.1)
    holder = in_another_namespace()
    with pytest.raises(DiskError, match=r"loop\d+ is still in use .* by another mount namespace"):
        disk.replug()
    holder.communicate(b"\n", WAIT_S)


def test_a_removed_disk_leaves_nothing() -> None:
    disk = Disk.make("gone", SIZE_BYTES)
    home = disk.mount_point.parent
    disk.freeze()
    disk.remove()
    assert not is_mounted(disk.mount_point)
    assert not home.exists()
    disk.remove()


def test_the_next_command_removes_the_frozen_disk_of_a_killed_one_and_nobody_elses(
    disk: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    left = Path(owner.stdout.readline().strip())
    assert owner.stdout.readline() == "frozen\n"
    assert left not in [home / "mount" for home in disks.remove_leftovers()]  # it lives
    owner.send_signal(signal.SIGKILL)
    owner.communicate(timeout=WAIT_S)
    assert is_mounted(left)
    leftovers.remove()
    assert "1 disk(s)" in capsys.readouterr().err
    assert not is_mounted(left)
    assert not left.parent.exists()
    assert is_mounted(disk.mount_point)


def test_a_disk_goes_with_its_interpreter() -> None:
    program = OWNER.replace("signal.pause()", "")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=WAIT_S, check=True
    )
    assert done.stderr == ""
    assert not Path(done.stdout.splitlines()[0]).parent.exists()
