"""Real files behind `Storage`: the same behaviour as the disk in memory, few descriptors, plain
errors.
"""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from reference_impl.core.storage import MemoryStorage, Space, Storage, StorageError
from reference_impl.host.disk import Disk


@pytest.fixture(params=["disk", "memory"])
def storage(request: pytest.FixtureRequest) -> Storage:
    return Disk() if request.param == "disk" else MemoryStorage()


@pytest.fixture
def root(storage: Storage, tmp_path: Path) -> str:
    path = f"{tmp_path}/a/b"
    storage.make_directory(path)
    return path


def test_a_file_grows_at_its_end_and_is_cut_from_its_end(storage: Storage, root: str) -> None:
    file = storage.open(f"{root}/x", create=True)
    file.append(b"hello ")
    file.append(memoryview(b"world"))
    assert (file.size(), file.read(4, 4), file.read(9, 100)) == (11, b"o wo", b"ld")
    file.truncate(5)
    file.append(bytearray(b"!"))
    file.sync()
    file.close()
    assert storage.read_file(f"{root}/x") == b"hello!"
    assert storage.open(f"{root}/x").size() == 6


def test_a_missing_file_is_an_error_unless_it_may_be_made(storage: Storage, root: str) -> None:
    with pytest.raises(StorageError, match=f"{root}/x: there is no such file"):
        storage.open(f"{root}/x")
    with pytest.raises(StorageError, match=f"{root}/x: there is no such file"):
        storage.read_file(f"{root}/x")


def test_names_are_listed_in_order(storage: Storage, root: str) -> None:
    for name in ("c", "a", "b"):
        storage.open(f"{root}/{name}", create=True).close()
    storage.make_directory(f"{root}/d/e")
    assert storage.list(root) == ["a", "b", "c", "d"]


def test_directories_are_renamed_and_deleted_with_what_they_hold(
    storage: Storage, root: str
) -> None:
    storage.make_directory(f"{root}/d/e")
    storage.write_atomically(f"{root}/d/e/x", b"1")
    storage.rename(f"{root}/d", f"{root}/f")
    assert storage.read_file(f"{root}/f/e/x") == b"1"
    assert not storage.exists(f"{root}/d")
    storage.delete_tree(f"{root}/f")
    storage.delete_tree(f"{root}/f")
    assert storage.list(root) == []


@pytest.mark.parametrize("sync", [True, False])
def test_a_file_is_replaced_whole(storage: Storage, root: str, sync: bool) -> None:
    for content in (b"old", b"newer"):
        storage.write_atomically(f"{root}/x", content, sync=sync)
    assert storage.read_file(f"{root}/x") == b"newer"
    assert storage.list(root) == ["x"], "nothing is left beside it"
    storage.sync_directory(root)


def test_deleting_what_is_not_there_is_no_error(storage: Storage, root: str) -> None:
    storage.write_atomically(f"{root}/x", b"")
    storage.delete(f"{root}/x")
    storage.delete(f"{root}/x")
    assert not storage.exists(f"{root}/x")


# -- real files only ---------------------------------------------------------------------------


def test_more_files_than_descriptors(tmp_path: Path) -> None:
    disk = Disk(descriptors_max=4)
    files = [disk.open(f"{tmp_path}/{number}", create=True) for number in range(20)]
    for turn in range(3):
        for number, file in enumerate(files):
            file.append(b"%d.%d " % (turn, number))
            assert disk.descriptors_open <= 4
    for number, file in enumerate(files):
        assert file.read(0, 100) == b"0.%d 1.%d 2.%d " % (number, number, number)
        file.close()
    assert disk.descriptors_open == 0


def test_descriptors_are_given_back(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    disk = Disk()
    for number in range(50):
        file = disk.open(f"{tmp_path}/{number}", create=True)
        file.append(b"x")
        file.close()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("code", "said", "no_space"),
    [
        (errno.ENOSPC, "no space left on the disk", True),
        (errno.EDQUOT, "quota", True),
        (errno.EIO, "input/output error", False),
    ],
)
def test_a_failing_write_names_file_and_cause_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str, no_space: bool
) -> None:
    file = Disk().open(f"{tmp_path}/x", create=True)
    file.append(b"before")
    real = os.pwrite

    def half_then_fail(descriptor: int, data: bytes, position: int) -> int:
        if position > 6:
            raise OSError(code, os.strerror(code))
        return real(descriptor, data[:3], position)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", half_then_fail)
        with pytest.raises(StorageError, match=said) as caught:
            file.append(b"after")
    assert (caught.value.path, caught.value.no_space) == (f"{tmp_path}/x", no_space)
    assert (tmp_path / "x").read_bytes() == b"before"
    file.append(b"!")
    assert (tmp_path / "x").read_bytes() == b"before!"


def test_a_failing_replacement_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk()
    disk.write_atomically(f"{tmp_path}/x", b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="no space left"):
        disk.write_atomically(f"{tmp_path}/x", b"new")
    assert disk.list(str(tmp_path)) == ["x"]
    assert disk.read_file(f"{tmp_path}/x") == b"old"


def test_the_space_of_the_volume_is_known(tmp_path: Path) -> None:
    space = Disk().space(str(tmp_path))
    assert 0 < space.usable_bytes <= space.total_bytes
    with pytest.raises(StorageError, match="missing: there is no such file"):
        Disk().space(f"{tmp_path}/missing")
    assert MemoryStorage().space("data") is None
    assert MemoryStorage(100).space("data") == Space(100, 100)


@pytest.mark.parametrize("kind", ["fifo", "socket", "directory", "device"])
def test_only_regular_files_are_opened(kind: str, tmp_path: Path) -> None:
    """A broker that opened a FIFO named like a snapshot stood still for ever."""
    disk, path = Disk(), f"{tmp_path}/x.tmp"
    with socket.socket(socket.AF_UNIX) as listener:
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "socket":
            listener.bind(path)
        elif kind == "directory":
            os.mkdir(path)
        else:
            os.symlink("/dev/zero", path)
        attempts: list[Callable[[], object]] = [
            lambda: disk.read_file(path),
            lambda: disk.open(path),
            lambda: disk.open(path, create=True),
        ]
        if kind != "device":
            attempts.append(lambda: disk.write_atomically(path.removesuffix(".tmp"), b""))
        for attempt in attempts:
            with pytest.raises(
                StorageError, match=f"{path}: it is not a regular file; move it away"
            ):
                attempt()
    assert os.listdir(tmp_path) == ["x.tmp"]
