"""Directories that belong to no topic: set aside at the start, and never lost."""

from __future__ import annotations

from reference_impl.core.log.directories.stray_directories import NAMED_MAX
from reference_impl.core.tests.world import World
from reference_impl.wire import ErrorCode


def lose_metadata(world: World) -> None:
    """Delete the log of the cluster's metadata, but not the partitions."""
    world.storage.kill()
    world.storage.delete_tree("data/__cluster_metadata-0")
    world.boot()


def test_a_directory_without_a_topic_is_set_aside() -> None:
    world = World()
    world.create_topic("t", 2)
    world.produce("t", "a")
    kept = world.storage.read_file("data/t-0/00000000000000000000.log")
    lose_metadata(world)
    aside = [name for name in world.storage.list("data") if name.endswith("-stray")]
    assert [name.partition(".")[0] for name in aside] == ["t-0", "t-1"]
    assert world.storage.read_file(f"data/{aside[0]}/00000000000000000000.log") == kept
    assert [report.split(" ")[0] for report in world.reports] == ["data/t-0", "data/t-1"]


def test_its_name_is_free_for_another_topic() -> None:
    world = World()
    world.create_topic("t")
    world.produce("t", "old")
    lose_metadata(world)
    world.create_topic("t")
    assert world.produce("t", "new").error_code == ErrorCode.NONE
    assert world.read_all("t") == ["new"]
    world.kill()
    assert world.read_all("t") == ["new"]


def test_partitions_that_have_a_topic_stay() -> None:
    world = World()
    world.create_topic("t-0")
    world.create_topic("t")
    world.produce("t", "a")
    directories = {"t-0", "t-0-0", "__cluster_metadata-0"}
    for restart in (world.kill, world.restart, world.lose_power):
        restart()
        names = world.storage.list("data")
        assert directories <= set(names)
        assert not [name for name in names if name.endswith("-stray")]


def test_thousands_of_them_are_set_aside_without_a_line_for_each() -> None:
    world = World()
    world.create_topic("t", NAMED_MAX + 5)
    lose_metadata(world)
    aside = [name for name in world.storage.list("data") if name.endswith("-stray")]
    assert len(aside) == NAMED_MAX + 5
    assert len(world.reports) == NAMED_MAX + 1
    assert world.reports[-1].startswith("5 more directories in data belong to no topic")
