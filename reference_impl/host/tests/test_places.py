"""Data directories belong to one node of one cluster, and hosts files say where the others are."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

import pytest

from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.log.directories.data_directory import (
    META_PROPERTIES,
    DataDirectory,
    WrongDirectory,
    uuid_of,
    uuid_text,
)
from reference_impl.core.storage import MemoryStorage
from reference_impl.host.settings import resolver

ONE, OTHER = uuid_text(UUID(int=1)), uuid_text(UUID(int=2))


def test_a_formatted_directory_keeps_its_ids() -> None:
    storage = MemoryStorage()
    DataDirectory.format(storage, "data", 1, uuid4, ONE)
    first = DataDirectory.open(storage, "data", 1, uuid4, may_format=False)
    DataDirectory.format(storage, "data", 1, uuid4, ONE)
    again = DataDirectory.open(storage, "data", 1, uuid4, may_format=False)
    assert (first.cluster_id, again.directory_id) == (ONE, first.directory_id)


def test_the_directory_of_another_cluster_node_or_nobody_is_refused() -> None:
    storage = MemoryStorage()
    with pytest.raises(WrongDirectory, match=r"not formatted: .*--cluster-id"):
        DataDirectory.open(storage, "data", 1, uuid4, may_format=False)
    assert not storage.exists(f"data/{META_PROPERTIES}")
    DataDirectory.format(storage, "data", 1, uuid4, ONE)
    with pytest.raises(WrongDirectory, match=f"belongs to cluster {ONE}, not to {OTHER}"):
        DataDirectory.format(storage, "data", 1, uuid4, OTHER)
    with pytest.raises(WrongDirectory, match="belongs to node 1, not to node 2"):
        DataDirectory.format(storage, "data", 2, uuid4, ONE)


def test_a_directory_without_an_id_of_its_own_gets_one_for_good() -> None:
    storage = MemoryStorage()
    storage.make_directory("data")
    text = f"version=1\ncluster.id={ONE}\nnode.id=1\n"
    storage.write_atomically(f"data/{META_PROPERTIES}", text.encode())
    first = DataDirectory.open(storage, "data", 1, uuid4)
    again = DataDirectory.open(storage, "data", 1, uuid4)
    assert (first.cluster_id, again.directory_id) == (ONE, first.directory_id)


def test_a_file_that_lost_the_name_of_its_directory_id_gets_no_new_one() -> None:
    """With another id, the broker would lead none of its partitions."""
    storage = MemoryStorage()
    storage.make_directory("data")
    text = f"version=1\ncluster.id={ONE}\nnode.id=1\ndirect\x7fry.id=rRXyK9lsT4KqC92tjAli3A\n"
    storage.write_atomically(f"data/{META_PROPERTIES}", text.encode())
    with pytest.raises(WrongDirectory, match=r"no directory\.id, but a key 'direct.x7fry\.id'"):
        DataDirectory.open(storage, "data", 1, uuid4)
    assert storage.read_file(f"data/{META_PROPERTIES}") == text.encode()


def test_an_id_that_is_none_is_refused() -> None:
    storage = MemoryStorage()
    storage.make_directory("data")
    text = f"version=1\ncluster.id={ONE}\nnode.id=1\ndirectory.id=torn\n"
    storage.write_atomically(f"data/{META_PROPERTIES}", text.encode())
    with pytest.raises(WrongDirectory, match=r"directory\.id=torn is not an id"):
        DataDirectory.open(storage, "data", 1, uuid4)
    assert uuid_of(ONE) == UUID(int=1)


def test_the_first_line_of_a_hosts_file_that_has_a_name_counts(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("127.64.1.2 b2 # the second\n\n# b3 is down\n127.64.1.9 b2 b9\n::1 b4\n")
    assert resolver.read(file) == {"b2": "127.64.1.2", "b9": "127.64.1.9", "b4": "::1"}


@pytest.mark.parametrize("line", ["b2 127.0.0.1", "127.0.0.1", "1.2.3 b2"])
def test_a_line_without_address_and_name_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "hosts"
    file.write_text(f"127.0.0.1 b1\n{line}\n")
    with pytest.raises(BadConfig, match="line 2: write it as ADDRESS NAME"):
        resolver.read(file)
