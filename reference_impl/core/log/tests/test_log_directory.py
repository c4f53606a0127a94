"""The data directory: its checkpoints, the clean-shutdown file, deletion."""

import pytest

from reference_impl.core.log.directories.checkpoints import BadCheckpoint
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.log.tests.helpers import RULES, TOPIC_ID, append, batch, values
from reference_impl.core.storage import MemoryStorage

DELAY_MS = LogConfig().file_delete_delay_ms


def opened(storage: MemoryStorage, partition: int = 0) -> tuple[LogDirectory, PartitionLog]:
    directory = LogDirectory(storage, "data", RULES)
    log = directory.open_log("orders", partition, TOPIC_ID, LogConfig(), 0)
    return directory, log


def leftovers(storage: MemoryStorage) -> list[str]:
    """Return the directories of partitions whose files are not deleted yet."""
    return [name for name in storage.list("data") if name.endswith("-delete")]


def test_a_clean_shutdown_is_remembered_once(storage: MemoryStorage) -> None:
    directory, log = opened(storage)
    assert not directory.clean_shutdown, "there was no shutdown yet"
    append(log, batch(b"a", b"b"))
    directory.close(broker_epoch=5)
    assert storage.read_file("data/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":5}'
    directory, log = opened(storage)
    assert directory.clean_shutdown
    assert (log.log_end_offset, log.high_watermark, log.recovery_point) == (2, 2, 2)
    assert not storage.exists("data/.kafka_cleanshutdown")
    assert not opened(storage)[0].clean_shutdown


def test_logs_that_were_never_opened_are_recovered_by_the_start_after_a_clean_stop(
    storage: MemoryStorage,
) -> None:
    """A node of thousands of partitions may be stopped before it has opened all of them."""
    _, log = opened(storage, partition=0)
    append(log, batch(b"a"))
    storage.kill()
    tail = storage.open("data/orders-0/00000000000000000000.log")
    tail.append(b"torn")
    opened(storage, partition=1)[0].close()
    directory, log = opened(storage, partition=0)
    assert not directory.clean_shutdown
    assert "4 bytes" in log.recovery_notes[0]
    opened(storage, partition=1)
    directory.open_log("orders", 1, TOPIC_ID, LogConfig(), 0)
    directory.close()
    opened(storage, partition=1)[0].close()
    assert opened(storage)[0].clean_shutdown, "what a clean stop left, and nobody opened, is clean"


def test_everything_appended_survives_a_loss_of_power_after_a_clean_shutdown(
    storage: MemoryStorage,
) -> None:
    directory, log = opened(storage)
    append(log, batch(b"a", b"b"))
    directory.close()
    storage.crash()
    assert values(opened(storage)[1]) == [b"a", b"b"]


def test_the_checkpoints_have_kafkas_bytes(storage: MemoryStorage) -> None:
    directory, log = opened(storage)
    append(log, batch(b"a", b"b", b"c"))
    log.flush()
    append(log, batch(b"d"))
    log.delete_records_before(2)
    directory.checkpoint()
    assert storage.read_file("data/recovery-point-offset-checkpoint") == b"0\n1\norders 0 3\n"
    assert storage.read_file("data/replication-offset-checkpoint") == b"0\n1\norders 0 4\n"
    assert storage.read_file("data/log-start-offset-checkpoint") == b"0\n1\norders 0 2\n"


def test_a_start_takes_up_log_start_and_high_watermark(storage: MemoryStorage) -> None:
    directory, log = opened(storage)
    append(log, batch(b"a"))
    append(log, batch(b"b"))
    log.delete_records_before(1)
    directory.checkpoint()
    storage.kill()
    _, log = opened(storage)
    assert (log.log_start_offset, log.high_watermark) == (1, 2)


def test_partitions_that_were_not_opened_keep_their_lines(storage: MemoryStorage) -> None:
    directory, log = opened(storage, partition=1)
    append(log, batch(b"a"))
    directory.close()
    directory, _ = opened(storage, partition=0)
    directory.checkpoint()
    content = storage.read_file("data/replication-offset-checkpoint")
    assert content == b"0\n2\norders 1 1\norders 0 0\n"


def test_a_deleted_partition_leaves_no_file_and_no_line(storage: MemoryStorage) -> None:
    directory, log = opened(storage)
    append(log, batch(b"a"))
    directory.checkpoint()
    directory.delete_log("orders", 0)
    assert not any("orders-0/" in path for path in storage.paths())
    directory.checkpoint()
    assert storage.read_file("data/recovery-point-offset-checkpoint") == b"0\n0\n"
    assert next(directory.delete_due(1000)) == 1000 + DELAY_MS
    assert any("orders" in path for path in storage.paths())
    steps = list(directory.delete_due(1000 + DELAY_MS))
    assert set(steps) == {None}
    assert not any("orders" in path for path in storage.paths())


def test_a_directory_of_many_files_goes_file_by_file(storage: MemoryStorage) -> None:
    """A topic with segment.ms=1 may have ten thousand files, and other clients wait for a step."""
    directory, log = opened(storage)
    for number in range(20):
        storage.open(f"{log.directory}/{number}.log", create=True)
    directory.delete_log("orders", 0)
    left = len(storage.paths())
    list(directory.delete_due(0))
    for _ in directory.delete_due(DELAY_MS):
        assert left - len(storage.paths()) <= 1
        left = len(storage.paths())
    assert leftovers(storage) == []


def test_without_a_delay_it_goes_file_by_file_too(storage: MemoryStorage) -> None:
    directory, log = opened(storage)
    log.config = LogConfig(file_delete_delay_ms=0)
    for number in range(20):
        storage.open(f"{log.directory}/{number}.log", create=True)
    before = len(storage.paths())
    directory.delete_log("orders", 0)
    assert len(storage.paths()) == before
    assert set(directory.delete_due(0)) == {None}
    assert leftovers(storage) == []


def test_a_replica_that_comes_back_may_be_deleted_again_before_its_old_files_are_gone(
    storage: MemoryStorage,
) -> None:
    directory, _ = opened(storage)
    directory.delete_log("orders", 0)
    directory.open_log("orders", 0, TOPIC_ID, LogConfig(), 0)
    directory.delete_log("orders", 0)
    assert len(leftovers(storage)) == 2
    list(directory.delete_due(0))
    directory.open_log("orders", 0, TOPIC_ID, LogConfig(), 0)
    list(directory.delete_due(DELAY_MS))
    assert leftovers(storage) == []
    assert storage.exists("data/orders-0")


@pytest.mark.parametrize("restarted", [False, True])
def test_a_partition_does_not_inherit_the_offsets_of_a_deleted_namesake(
    storage: MemoryStorage, restarted: bool
) -> None:
    directory, log = opened(storage)
    for value in (b"a", b"b", b"c"):
        append(log, batch(value))
    log.flush()
    log.delete_records_before(2)
    directory.checkpoint()
    directory.delete_log("orders", 0)
    if restarted:
        storage.kill()
        directory = LogDirectory(storage, "data", RULES)
    log = directory.open_log("orders", 0, TOPIC_ID, LogConfig(), 0)
    assert append(log, batch(b"new")).base_offset == 0
    storage.open(log.directory + f"/{0:020d}.log").append(b"torn")
    storage.kill()
    _, log = opened(storage)
    assert (log.log_start_offset, values(log)) == (0, [b"new"])


def test_unchanged_checkpoints_are_not_written_again(storage: MemoryStorage) -> None:
    directory, _ = opened(storage)
    directory.checkpoint()
    storage.delete("data/recovery-point-offset-checkpoint")
    directory.checkpoint()
    assert not storage.exists("data/recovery-point-offset-checkpoint")


def test_a_deletion_that_a_crash_cut_short_is_finished(storage: MemoryStorage) -> None:
    storage.make_directory("data/orders-0.0123-delete")
    storage.open("data/orders-0.0123-delete/x.log", create=True)
    storage.open("data/orders-0.0123-delete/y.log", create=True)
    directory = LogDirectory(storage, "data", RULES)
    assert len(storage.paths()) == 2, "the start does not wait for it"
    log = directory.open_log("orders", 0, TOPIC_ID, LogConfig(), 0)
    append(log, batch(b"new"))
    steps = directory.delete_due(0)
    assert next(steps) is None
    storage.kill()
    list(LogDirectory(storage, "data", RULES).delete_due(0))
    assert storage.list("data") == ["orders-0"]
    assert values(opened(storage)[1]) == [b"new"]


def test_a_damaged_checkpoint_refuses_the_start_by_name(storage: MemoryStorage) -> None:
    directory, _ = opened(storage)
    directory.checkpoint()
    storage.write_atomically("data/recovery-point-offset-checkpoint", b"0\n2\norders 0 1\n")
    with pytest.raises(BadCheckpoint, match="data/recovery-point-offset-checkpoint: it promises 2"):
        opened(storage)
