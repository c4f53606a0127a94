"""A file system of its own for a node: ext4 in a sparse file on a loop device (needs root).

Only a file system that nothing else uses can be frozen, filled and cut from its medium without harm
to the machine. A loss of power is imitated by FS_IOC_SHUTDOWN without a flush of the journal: the
data that the node had not synced is gone, as it is when the plug is pulled.

The paths of a disk's image and mount point name its owner:
`touchstone-disks-PID-START-NAMESPACE/NAME/`, the parts of the owner name of guard.py. So the
kernel's table of mounts records every disk and its owner, and a disk whose owner has died is found
by the next command, which thaws, unmounts and deletes it (`remove_leftovers`).
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import os
import re
import shutil
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from chaos.means import capabilities, guard, mounts, processes

SIZE_BYTES = 1 << 30
"""The size of the file system in bytes. The image is a sparse file, which takes only the space that
is used."""
COMMAND_TIMEOUT_S = 60.0
RELEASE_TIMEOUT_S = 20.0
LOOK_EVERY_S = 0.01
PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
PROGRAMS = ("mkfs.ext4", "mount", "umount", "sync")

# linux/fs.h; linux/ext4.h (EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_NOLOGFLUSH)
FIFREEZE, FITHAW, FS_IOC_SHUTDOWN = 0xC0045877, 0xC0045878, 0x8004587D
WITH_ALL_WRITTEN, WITHOUT_FLUSH = 0, 2

MOUNT_OPTIONS = "loop,nobarrier"
"""The mount options. `nobarrier` makes a sync end when the image file has the data, without waiting
for the machine's own disk. Since the machine's power is not cut, that does not change what is lost,
and it saves 17 ms at every sync and freeze, ten times that on a busy machine."""

_OWNED = re.compile(r"touchstone-disks-(\d+-\d+-\d+)")
_lock = threading.RLock()
_living: dict[Path, Disk] = {}


class DiskError(RuntimeError):
    """Raised if a disk cannot be made, or a fault cannot be performed on it. The message is one
    sentence that says what to do."""


def why_none() -> str | None:
    """Return why this process cannot make disks of their own for nodes, or None if it can."""
    if not capabilities.has(capabilities.CAP_SYS_ADMIN):
        return (
            "disks of their own for nodes need the right to mount (CAP_SYS_ADMIN); run as root,"
            " see `touchstone doctor`"
        )
    missing = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if missing:
        return f"there is no {' nor '.join(missing)}; apt-get install e2fsprogs mount"
    if not os.access("/dev/loop-control", os.W_OK):
        return "there is no /dev/loop-control: no loop devices; see `touchstone doctor`"
    return None


class Disk:
    """One mounted file system of a node, from `Disk.make` until `remove`."""

    def __init__(self, home: Path) -> None:
        self._image = home / "image"
        self._owner = os.getpid()
        self.mount_point = home / "mount"
        self.is_stalled = False
        self.is_full = False
        self.is_broken = False

    @classmethod
    def make(cls, name: str, size_bytes: int = SIZE_BYTES) -> Disk:
        """Make a new, empty, mounted disk; `name` begins the name of its directory. Raise DiskError
        if that is not possible on this machine."""
        if reason := why_none():
            raise DiskError(reason)
        home = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=_own_directory()))
        disk = cls(home)
        try:
            disk.mount_point.mkdir()
            with disk._image.open("wb") as file:
                file.truncate(size_bytes)
            # Reserve no blocks for root: a full disk must be full for a node run by root, too.
            options = ("-q", "-F", "-m0", "-E", "lazy_itable_init=1,nodiscard")
            _run("mkfs.ext4", *options, disk._image)
            disk._mount()
        except BaseException as error:
            with suppress(DiskError):
                disk.remove()
            if isinstance(error, OSError):
                raise DiskError(
                    f"no disk can be made in {home}: {error.strerror}; free some space, or set"
                    " TMPDIR"
                ) from error
            raise
        with _lock:
            _living[home] = disk
        return disk

    def sync(self) -> None:
        """Write everything to the medium, including data that the node has not synced. Raise
        DiskError if that fails."""
        _run("sync", "-f", self.mount_point)

    def freeze(self) -> None:
        """Make writes and syncs hang until `thaw`; reads are still served. Do nothing if it is
        frozen already. Raise DiskError if the kernel refuses."""
        if not self.is_stalled:
            self._ioctl(FIFREEZE)
            self.is_stalled = True

    def thaw(self) -> None:
        """End a freeze: hanging writes and syncs continue. Do nothing if it is not frozen. Raise
        DiskError if the kernel refuses."""
        if self.is_stalled:
            self._ioctl(FITHAW)
            self.is_stalled = False

    def fill(self) -> None:
        """Take all free space: writes that need more get ENOSPC. Raise DiskError if taking it fails
        for another reason than a full disk, and OSError if the file that takes it cannot be
        opened."""
        self.is_full = True
        space = os.statvfs(self.mount_point)
        free_bytes = space.f_bavail * space.f_frsize
        with self._ballast.open("wb") as file:
            while free_bytes >= space.f_frsize:
                try:
                    os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), free_bytes)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise DiskError(
                            f"{self._ballast} cannot take the free space: {error.strerror}; see"
                            " `touchstone doctor`"
                        ) from error
                    free_bytes //= 2  # the file's own metadata takes blocks, too

    def make_room(self) -> None:
        """Release the space that `fill` has taken, if any. Raise OSError if the disk cannot be
        written."""
        if self.is_full:
            self._ballast.unlink(missing_ok=True)
        self.is_full = False

    def cut_power(self) -> None:
        """Cut the power: nothing more reaches the medium, and every write fails with EIO.

        The journal is not flushed: data that was neither synced nor written back by the kernel is
        lost. After the node's process has ended, `replug` mounts what is left. Raise DiskError if
        the kernel refuses.
        """
        self._ioctl(FS_IOC_SHUTDOWN, struct.pack("I", WITHOUT_FLUSH))

    def die(self) -> None:
        """Make every later write and sync fail with EIO; data written before is kept. `replug`
        repairs it. Raise DiskError if the kernel refuses."""
        self.is_broken = True
        self._ioctl(FS_IOC_SHUTDOWN, struct.pack("I", WITH_ALL_WRITTEN))

    def turn_read_only(self) -> None:
        """Do what ext4 does when it meets an error: every later write fails with EROFS; data
        written before is synced and kept. `replug` repairs it. Raise DiskError if it cannot be
        synced or remounted."""
        self.is_broken = True
        self.sync()
        _run("mount", "-o", "remount,abort", self.mount_point)

    def replug(self) -> None:
        """Unmount the disk and mount it again with the data on its medium; ext4 replays its
        journal. The disk is then neither full nor frozen.

        Raise DiskError if it cannot be unmounted (a process has it open), is not released by the
        kernel within RELEASE_TIMEOUT_S, or cannot be mounted.
        """
        _run("umount", self.mount_point)
        self._await_release()
        self.is_stalled = self.is_broken = False
        self._mount()
        self.make_room()

    def remove(self) -> None:
        """Unmount the file system and delete its image, whatever its state. The node's process must
        have ended: a disk that is still in use is only detached. In a fork of the process that made
        the disk, leave it as it is. Raise DiskError if it cannot be unmounted."""
        if self._owner == os.getpid():
            _remove(self._image.parent)
        with _lock:
            _living.pop(self._image.parent, None)

    @property
    def _ballast(self) -> Path:
        return self.mount_point / ".ballast"

    def _mount(self) -> None:
        _run("mount", "-o", MOUNT_OPTIONS, self._image, self.mount_point)

    def _await_release(self) -> None:
        """Wait until the kernel has let go of the image. Raise DiskError if that takes longer than
        RELEASE_TIMEOUT_S.

        A process that makes a mount namespace in the meantime (the start of a container, `ip netns
        exec`) has a copy of every mount for a moment. If we mounted again then, we would get the
        same file system, which is shut down, and its writes would still fail.
        """
        deadline = time.monotonic() + RELEASE_TIMEOUT_S
        while loop := _loop_device(self._image):
            if time.monotonic() > deadline:
                raise DiskError(
                    f"{self.mount_point}: {loop} is still in use {RELEASE_TIMEOUT_S:.0f} s after"
                    " it was unmounted, by another mount namespace; see `lsns --type mnt`"
                )
            time.sleep(LOOK_EVERY_S)

    def _ioctl(self, request: int, argument: bytes | int = 0) -> None:
        try:
            _ioctl(self.mount_point, request, argument)
        except OSError as error:
            raise DiskError(
                f"{self.mount_point}: the kernel refuses the fault: {error.strerror}; see"
                " `touchstone doctor`"
            ) from error


def thaw_leftovers() -> None:
    """Thaw the mounted disks of dead owners: a process that hangs on a frozen disk cannot be
    ended."""
    for mount_point in _mount_points():
        if _is_leftover(mount_point):
            with suppress(OSError):
                _ioctl(mount_point, FITHAW)


def remove_leftovers() -> list[Path]:
    """Remove the disks whose owners died without removing them. Return their directories, sorted,
    including those of disks that could not be removed."""
    homes = leftovers()
    for home in homes:
        with suppress(DiskError):  # another command may be removing it
            _remove(home)
    for directory in _left_directories():
        with suppress(OSError):
            directory.rmdir()
    return homes


def leftovers() -> list[Path]:
    """Return the directories of the disks that owners left when they died, sorted."""
    homes = {mount_point.parent for mount_point in _mount_points() if _is_leftover(mount_point)}
    for directory in _left_directories():
        homes |= set(directory.iterdir()) if directory.is_dir() else set()
    return sorted(homes)


def _left_directories() -> list[Path]:
    directories = Path(tempfile.gettempdir()).glob("touchstone-disks-*")
    return [directory for directory in directories if _is_leftover(directory)]


def _own_directory() -> Path:
    directory = Path(tempfile.gettempdir()) / f"touchstone-disks-{guard.owner_tag(os.getpid())}"
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise DiskError(f"{directory} cannot be made: {error.strerror}; set TMPDIR") from error
    return directory


def _is_leftover(path: Path) -> bool:
    """Return whether this path names an owner, and that owner is dead."""
    found = _OWNED.search(str(path))
    return found is not None and guard.is_dead_tag(found[1])


def _mount_points() -> Iterator[Path]:
    """Yield the mount points of all disks that chaos has made, including those of other owners."""
    for where in mounts.mount_points():
        if _OWNED.search(where):
            yield Path(where)


def _loop_device(image: Path) -> str | None:
    """Return the loop device of this image, or None. (The kernel names the image without symbolic
    links.)"""
    name = str(image.resolve())
    for backing_file in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):  # the device is being released
            if backing_file.read_text().strip() == name:
                return backing_file.parts[3]
    return None


def _remove(home: Path) -> None:
    mount_point = home / "mount"
    while mount_point in set(_mount_points()):
        with suppress(OSError):
            _ioctl(mount_point, FITHAW)
        try:
            _run("umount", mount_point)
        except DiskError:
            _run("umount", "-l", mount_point)  # it is unmounted when no process uses it any more
    shutil.rmtree(home, ignore_errors=True)
    with suppress(OSError):
        home.parent.rmdir()  # fails unless this was the owner's last disk


def _ioctl(mount_point: Path, request: int, argument: bytes | int = 0) -> None:
    descriptor = os.open(mount_point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, request, argument)
    finally:
        os.close(descriptor)


def _run(program: str, *arguments: str | Path) -> None:
    try:
        done = subprocess.run(
            [shutil.which(program, path=PATH) or program, *arguments],
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DiskError(f"{program} failed: {error}; see `touchstone doctor`") from error
    if done.returncode != 0:
        said = " / ".join((done.stderr or done.stdout).split("\n")).strip(" /")
        raise DiskError(f"{program} failed: {said}; see `touchstone doctor`")


def _at_exit() -> None:
    """Thaw this process's disks when it exits, kill its child processes, which may use the disks,
    and then remove the disks. Ignore a disk that cannot be removed."""
    with _lock:
        disks = [disk for disk in _living.values() if disk._owner == os.getpid()]
    if not disks:
        return
    for disk in disks:
        with suppress(DiskError):
            disk.thaw()
    processes.end_all()
    for disk in disks:
        with suppress(DiskError):
            disk.remove()


atexit.register(_at_exit)
