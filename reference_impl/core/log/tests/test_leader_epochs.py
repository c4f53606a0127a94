"""Leader epochs: the file, and where an epoch ended (KIP-101, KIP-279)."""

import pytest

from reference_impl.core.log.leader_epochs import LeaderEpochs
from reference_impl.core.storage import MemoryStorage

LOG_END = 50


@pytest.fixture
def epochs() -> LeaderEpochs:
    storage = MemoryStorage()
    storage.make_directory("d")
    epochs = LeaderEpochs(storage, "d")
    for epoch, start in ((1, 10), (3, 20), (4, 35)):
        epochs.assign(epoch, start)
    return epochs


def test_the_file_is_version_count_and_entries(epochs: LeaderEpochs) -> None:
    storage = epochs._storage
    assert storage.read_file("d/leader-epoch-checkpoint") == b"0\n3\n1 10\n3 20\n4 35\n"
    again = LeaderEpochs(storage, "d")
    again.load()
    assert again.entries == epochs.entries


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, (-1, -1)),
        (0, (0, 10)),
        (1, (1, 20)),
        (2, (1, 20)),
        (3, (3, 35)),
        (4, (4, LOG_END)),
        (5, (-1, -1)),
    ],
)
def test_an_epoch_ends_where_the_next_one_starts(
    epochs: LeaderEpochs, asked: int, answer: tuple[int, int]
) -> None:
    assert epochs.end_offset_for(asked, LOG_END) == answer


def test_without_entries_every_epoch_is_unknown() -> None:
    assert LeaderEpochs(MemoryStorage(), "d").end_offset_for(0, 10) == (-1, -1)


def test_the_same_epoch_is_noted_once(epochs: LeaderEpochs) -> None:
    epochs.assign(4, 40)
    assert epochs.entries == [(1, 10), (3, 20), (4, 35)]


def test_a_new_epoch_at_the_same_offset_replaces_one_that_wrote_nothing(
    epochs: LeaderEpochs,
) -> None:
    epochs.assign(5, 35)
    assert epochs.entries == [(1, 10), (3, 20), (5, 35)]


@pytest.mark.parametrize(
    ("end", "left"), [(36, [(1, 10), (3, 20), (4, 35)]), (35, [(1, 10), (3, 20)]), (10, [])]
)
def test_cutting_the_end_forgets_epochs_that_wrote_nothing_before(
    epochs: LeaderEpochs, end: int, left: list[tuple[int, int]]
) -> None:
    epochs.truncate_from_end(end)
    assert epochs.entries == left


@pytest.mark.parametrize(
    ("start", "left"),
    [
        (5, [(1, 10), (3, 20), (4, 35)]),
        (15, [(1, 15), (3, 20), (4, 35)]),
        (20, [(3, 20), (4, 35)]),
        (60, [(4, 60)]),
    ],
)
def test_cutting_the_start_keeps_the_epoch_of_the_first_offset(
    epochs: LeaderEpochs, start: int, left: list[tuple[int, int]]
) -> None:
    epochs.truncate_from_start(start)
    assert epochs.entries == left


@pytest.mark.parametrize(("offset", "epoch"), [(9, None), (10, 1), (19, 1), (20, 3), (99, 4)])
def test_each_offset_has_the_epoch_that_wrote_it(
    epochs: LeaderEpochs, offset: int, epoch: int | None
) -> None:
    assert epochs.epoch_of(offset) == epoch
