"""Starts after a crash: torn tails, lost bytes, damaged files."""

import pytest

from reference_impl.bugs.recovering.forget_producer_state_on_restart import (
    ForgetProducerStateOnRestart,
)
from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.tests.helpers import (
    DIRECTORY,
    ONE,
    append,
    batch,
    filled,
    header_of,
    open_log,
    small_segments,
    values,
)
from reference_impl.core.storage import MemoryStorage

LOG_0 = f"{DIRECTORY}/{0:020d}.log"


def files(storage: MemoryStorage) -> dict[str, bytes]:
    """Return the files in the partition's directory except snapshots, which only appear with
    time."""
    return {
        name: storage.read_file(f"{DIRECTORY}/{name}")
        for name in storage.list(DIRECTORY)
        if not name.endswith(".snapshot")
    }


@pytest.mark.parametrize("clean_shutdown", [True, False])
def test_a_closed_log_opens_as_it_was(storage: MemoryStorage, clean_shutdown: bool) -> None:
    config = small_segments(4 * ONE)
    log = filled(storage, 10, config)
    log.close(clean=True)
    before = files(storage)
    again = open_log(storage, config, clean_shutdown=clean_shutdown)
    assert files(storage) == before
    assert values(again) == values(log) == [b"%d" % number for number in range(10)]
    assert again.recovery_notes == ()


def test_a_killed_process_loses_no_byte(storage: MemoryStorage) -> None:
    filled(storage, 10, small_segments(4 * ONE))
    storage.kill()
    again = open_log(storage, small_segments(4 * ONE))
    assert values(again) == [b"%d" % number for number in range(10)]


@pytest.mark.parametrize("torn_bytes", range(1, ONE))
def test_a_torn_tail_is_cut_off_at_the_last_whole_batch(
    storage: MemoryStorage, torn_bytes: int
) -> None:
    log = filled(storage, 4, LogConfig(index_interval_bytes=0))
    log.flush()
    append(log, batch(b"torn"))
    storage.crash(kept=lambda path, synced, size: synced + torn_bytes)
    again = open_log(storage, LogConfig(index_interval_bytes=0), recovery_point=4)
    assert values(again) == [b"0", b"1", b"2", b"3"]
    assert f"{torn_bytes} bytes from offset 4 on" in again.recovery_notes[0]
    assert append(again, batch(b"4")).base_offset == 4
    assert values(open_log(storage)) == [b"0", b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize(
    "tail", [b"\0" * 200, b"\xff" * 200, b"junk"], ids=["zeros", "ones", "junk"]
)
def test_a_tail_that_was_never_written_is_cut_off(storage: MemoryStorage, tail: bytes) -> None:
    filled(storage, 3)
    storage.open(LOG_0).append(tail)
    assert values(open_log(storage)) == [b"0", b"1", b"2"]
    assert len(storage.read_file(LOG_0)) == 3 * ONE


def test_an_unsynced_batch_with_a_wrong_crc_ends_the_log(storage: MemoryStorage) -> None:
    filled(storage, 4)
    storage.corrupt(LOG_0, 3 * ONE - 1, b"\xff")
    again = open_log(storage)
    assert values(again) == [b"0", b"1"]
    assert "crc" in again.recovery_notes[0]


def test_damage_below_the_recovery_point_refuses_the_start(storage: MemoryStorage) -> None:
    log = filled(storage, 4)
    log.flush()
    storage.corrupt(LOG_0, 3 * ONE - 1, b"\xff")
    before = files(storage)
    with pytest.raises(CorruptLog, match=rf"{LOG_0}: corrupt at byte {2 * ONE}, offset 2"):
        open_log(storage, recovery_point=log.recovery_point)
    assert files(storage)[f"{0:020d}.log"] == before[f"{0:020d}.log"]


def test_damage_before_the_last_segment_refuses_the_start(storage: MemoryStorage) -> None:
    config = small_segments(3 * ONE)
    filled(storage, 7, config)
    storage.corrupt(f"{DIRECTORY}/{3:020d}.log", ONE + 30, b"\xff")
    with pytest.raises(CorruptLog, match=r"00000000000000000003\.log: corrupt .* move it"):
        open_log(storage, config)


def test_segments_below_the_recovery_point_are_not_read(storage: MemoryStorage) -> None:
    config = small_segments(3 * ONE)
    filled(storage, 7, config)
    storage.corrupt(LOG_0, ONE + 30, b"\xff")
    again = open_log(
        storage,
        config,
        recovery_point=6,
        steps=ForgetProducerStateOnRestart(),  # the segments alone are in question
    )
    assert again.log_end_offset == 7


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", ["missing", "half an entry", "garbage"])
@pytest.mark.parametrize("clean_shutdown", [True, False])
def test_a_damaged_index_is_written_anew_byte_for_byte(
    storage: MemoryStorage, suffix: str, damage: str, clean_shutdown: bool
) -> None:
    config = small_segments(8 * ONE)
    filled(storage, 20, config).close(clean=True)
    before = files(storage)
    for base in (0, 8):
        path = f"{DIRECTORY}/{base:020d}{suffix}"
        if damage == "missing":
            storage.delete(path)
        else:
            storage.open(path).append(b"\0\0\0" if damage == "half an entry" else b"\xff" * 24)
    again = open_log(storage, config, clean_shutdown=clean_shutdown)
    assert files(storage) == before
    assert len(again.recovery_notes) == 2
    assert values(again) == [b"%d" % number for number in range(20)]


def test_leftovers_of_an_interrupted_operation_are_removed(storage: MemoryStorage) -> None:
    filled(storage, 2)
    for name in ("leader-epoch-checkpoint.tmp", f"{0:020d}.log.deleted", f"{9:020d}.index"):
        storage.write_atomically(f"{DIRECTORY}/{name}", b"junk")
    open_log(storage)
    assert storage.list(DIRECTORY) == [
        *(f"{0:020d}{suffix}" for suffix in (".index", ".log", ".timeindex")),
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]


def test_lost_leader_epochs_are_found_again_in_the_batches(storage: MemoryStorage) -> None:
    config = small_segments(3 * ONE)
    log = open_log(storage, config)
    for number in range(7):
        append(log, batch(b"%d" % number, timestamp_ms=number), leader_epoch=number // 3)
    log.close(clean=True)
    storage.write_atomically(f"{DIRECTORY}/leader-epoch-checkpoint", b"")
    again = open_log(storage, config, clean_shutdown=True)
    assert again.leader_epochs.entries == [(0, 0), (1, 3), (2, 6)]
    assert "leader-epoch-checkpoint" in again.recovery_notes[0]


def test_the_log_start_survives_and_hides_what_is_below(storage: MemoryStorage) -> None:
    filled(storage, 5)
    again = open_log(storage, log_start_offset=3)
    assert (again.log_start_offset, values(again)) == (3, [b"3", b"4"])


def test_a_log_that_ends_below_its_start_begins_anew_there(storage: MemoryStorage) -> None:
    filled(storage, 5)
    again = open_log(storage, log_start_offset=8)
    assert (again.log_start_offset, again.log_end_offset) == (8, 8)
    assert append(again, batch(b"x")).base_offset == 8
    (note,) = again.recovery_notes
    assert "the log ends at offset 5, before the log start 8 of log-start-offset-checkpoint" in note


@pytest.mark.parametrize("start", [-1, 2**63 - 2**31 + 1, 2**63 - 1])
def test_a_log_start_that_no_log_can_have_is_refused(storage: MemoryStorage, start: int) -> None:
    filled(storage, 5)
    with pytest.raises(CorruptLog, match=f"the log start {start} of log-start-offset-checkpoint"):
        open_log(storage, log_start_offset=start)


@pytest.mark.parametrize("base", [2**63 - 2**31 + 1, 2**63 - 1, 2**63, 10**20 - 1])
@pytest.mark.parametrize("suffix", ["", ".swap"])
def test_a_segment_whose_offsets_do_not_fit_is_refused(
    storage: MemoryStorage, base: int, suffix: str
) -> None:
    filled(storage, 2)
    storage.write_atomically(f"{DIRECTORY}/{base:020d}.log{suffix}", b"")
    with pytest.raises(CorruptLog, match=f"{base:020d}.log: no segment may begin after offset"):
        open_log(storage)


def test_files_that_only_look_like_numbers_are_no_segments(storage: MemoryStorage) -> None:
    filled(storage, 2)
    for suffix in (".log", ".log.swap", ".index", ".snapshot"):
        storage.write_atomically(f"{DIRECTORY}/²{suffix}", b"")
    assert values(open_log(storage)) == [b"0", b"1"]


def test_another_topics_directory_is_refused(storage: MemoryStorage) -> None:
    open_log(storage)
    storage.write_atomically(
        f"{DIRECTORY}/partition.metadata", b"version: 0\ntopic_id: nwwqbnwbTT6l9AEjRWeJqw\n"
    )
    with pytest.raises(CorruptLog, match=r"data/orders-0: it belongs to topic id 9f0c2a6e"):
        open_log(storage)


def test_overlapping_segments_are_refused(storage: MemoryStorage) -> None:
    filled(storage, 5)
    storage.open(f"{DIRECTORY}/{3:020d}.log", create=True)
    with pytest.raises(CorruptLog, match="runs to offset 4, but the next segment starts at 3"):
        open_log(storage)


# -- producers ---------------------------------------------------------------------------------


def sent(sequence: int) -> bytearray:
    return batch(b"x", producer_id=1, producer_epoch=0, base_sequence=sequence)


@pytest.mark.parametrize("segment_bytes", [10_000, 3 * ONE])
def test_after_a_kill_retries_of_the_last_five_batches_are_known(
    storage: MemoryStorage, segment_bytes: int
) -> None:
    config = LogConfig(internal_segment_bytes=segment_bytes)
    log = open_log(storage, config)
    for sequence in range(7):
        append(log, sent(sequence))
    storage.kill()
    again = open_log(storage, config)
    known = [again.producer_state.duplicate_of(header_of(sent(s))) for s in range(7)]
    first = 2 if segment_bytes == 10_000 else 5  # from a snapshot at 6 on, only its last batch
    assert [seen and seen.first_offset for seen in known] == [
        offset if offset >= first else None for offset in range(7)
    ]


def test_after_a_clean_restart_only_the_last_batch_is_known(storage: MemoryStorage) -> None:
    log = open_log(storage)
    for sequence in range(7):
        append(log, sent(sequence))
    log.close(clean=True)
    again = open_log(storage, clean_shutdown=True)
    known = [again.producer_state.duplicate_of(header_of(sent(s))) is not None for s in range(7)]
    assert known == [False] * 6 + [True]


def test_a_torn_snapshot_is_replaced_by_reading_the_log(storage: MemoryStorage) -> None:
    log = open_log(storage)
    for sequence in range(7):
        append(log, sent(sequence))
    log.close(clean=True)
    storage.corrupt(f"{DIRECTORY}/{7:020d}.snapshot", 10, b"\xff")
    again = open_log(storage, clean_shutdown=True)
    assert again.producer_state.duplicate_of(header_of(sent(3))) is not None


@pytest.mark.parametrize("kept", [0, 2])
def test_a_snapshot_from_before_the_log_start_is_not_used(
    storage: MemoryStorage, kept: int
) -> None:
    log = open_log(storage)
    append(log, sent(0))
    log.close(clean=True)
    log = open_log(storage, clean_shutdown=True, recovery_point=1)
    for sequence in range(1, 5):
        append(log, sent(sequence))
    start = log.delete_records_before(5 - kept)
    storage.kill()
    again = open_log(storage, recovery_point=1, log_start_offset=start)
    # The snapshot at 1 knows nothing of the deleted batches and would refuse the next one.
    assert again.producer_state.check_sequence(header_of(sent(5))) == 0
    assert (again.producer_state.duplicate_of(header_of(sent(4))) is not None) == (kept > 0)


@pytest.mark.parametrize("lost", [range(ONE // 2, ONE), range(ONE // 2), range(ONE)], ids=str)
def test_a_batch_whose_sector_never_came_is_cut_off_with_what_was_written_behind_it(
    storage: MemoryStorage, lost: range
) -> None:
    """The medium took the writes in another order: that is no damage, and nothing was synced."""
    filled(storage, 5)
    storage.corrupt(LOG_0, 2 * ONE + lost.start, bytes(len(lost)))
    again = open_log(storage)
    assert values(again) == [b"0", b"1"]
    assert "were cut off" in again.recovery_notes[0]


@pytest.mark.parametrize("at", [0, 7, 9, 11, 16, 18, 23, 60, ONE - 2])
def test_a_batch_with_one_wrong_bit_before_whole_ones_is_damage(
    storage: MemoryStorage, at: int
) -> None:
    filled(storage, 5)
    before = storage.read_file(LOG_0)
    storage.corrupt(LOG_0, 2 * ONE + at, bytes((before[2 * ONE + at] ^ 0x10,)))
    damaged = storage.read_file(LOG_0)
    with pytest.raises(CorruptLog, match="offset 2, where"):
        open_log(storage)
    assert storage.read_file(LOG_0) == damaged, "nothing was changed"
