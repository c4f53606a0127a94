"""The small text files of a log directory: a version line, a count line, one line for each entry.

Source: CheckpointFile.java, OffsetCheckpointFile.java, LeaderEpochCheckpointFile.java,
PartitionMetadataFile.java, CleanShutdownFileHandler.java.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Iterable, Mapping

from reference_impl.core.storage import Storage, StorageError

RECOVERY_POINT_FILE = "recovery-point-offset-checkpoint"
LOG_START_FILE = "log-start-offset-checkpoint"
HIGH_WATERMARK_FILE = "replication-offset-checkpoint"
CLEANER_OFFSET_FILE = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
LEADER_EPOCH_FILE = "leader-epoch-checkpoint"
PARTITION_METADATA_FILE = "partition.metadata"
_PARTITION_METADATA_BYTES = len("version: 0\ntopic_id: ") + 22

TopicPartition = tuple[str, int]
"""Topic name and partition index."""


class BadCheckpoint(StorageError):
    """A checkpoint file whose content is not in its format."""


def encode_lines(lines: Iterable[str]) -> bytes:
    """Encode a checkpoint file: version 0, the count, the lines."""
    rows = list(lines)
    return "".join(f"{row}\n" for row in ("0", str(len(rows)), *rows)).encode()


def decode_lines(path: str, data: bytes, fields: int) -> list[list[str]]:
    """Return the fields of each entry: of each line after the version and the number of entries.
    Raise BadCheckpoint, which says what is wrong. fields: the number of fields that each entry must
    have; the last two are integers of 32 and 64 bits."""
    if not data.endswith(b"\n"):
        raise BadCheckpoint(path, "its last line is not complete")
    lines = data.decode(errors="replace").split("\n")
    if lines[0] != "0":
        raise BadCheckpoint(path, f"line 1 should be the version 0, but is {lines[0]!r}")
    if len(lines) < 2 or not _is_integer(lines[1], bits=32):
        raise BadCheckpoint(path, "line 2 should be the number of entries")
    rows = [line.split() for line in lines[2:] if line]
    if len(rows) != int(lines[1]):
        raise BadCheckpoint(path, f"it promises {lines[1]} entries and has {len(rows)}")
    for number, row in enumerate(rows, start=3):
        if len(row) != fields or not (_is_integer(row[-2], bits=32) and _is_integer(row[-1])):
            raise BadCheckpoint(
                path,
                f"line {number} should have {fields} fields; the last two are integers of 32 and"
                " 64 bits",
            )
    return rows


def _is_integer(text: str, *, bits: int = 64) -> bool:
    """Return whether the text is an integer that Kafka can hold in this many bits."""
    if re.fullmatch(r"-?[0-9]{1,19}", text) is None:
        return False
    return -(1 << bits - 1) <= int(text) < 1 << bits - 1


def read_offsets(storage: Storage, path: str) -> dict[TopicPartition, int]:
    """Return the offset of each partition in the file. Return an empty dict if there is no file, or
    an empty one: Kafka creates empty files before it has anything to write
    (OffsetCheckpointFile). Raise BadCheckpoint if the file is not in its format."""
    data = storage.read_file(path) if storage.exists(path) else b""
    if not data:
        return {}
    rows = decode_lines(path, data, 3)
    return {(topic, int(partition)): int(offset) for topic, partition, offset in rows}


def write_offsets(storage: Storage, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace the file with these offsets, and sync it."""
    lines = (f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())
    storage.write_atomically(path, encode_lines(lines))


def read_topic_id(storage: Storage, directory: str) -> uuid.UUID | None:
    """Return the topic id in `partition.metadata`, or None if the file is absent or incomplete: it
    is written without a sync, so a loss of power may empty it or leave zeros, and the controller's
    metadata knows the id anyway. Raise BadCheckpoint if a line is malformed."""
    path = f"{directory}/{PARTITION_METADATA_FILE}"
    if not storage.exists(path):
        return None
    data = storage.read_file(path)
    is_cut = len(data) < _PARTITION_METADATA_BYTES and data.count(b"\n") < 2
    if is_cut or b"\0" in data:
        return None
    lines = data.decode(errors="replace").splitlines()
    found = dict(line.split(": ", 1) for line in lines if ": " in line)
    if found.get("version") != "0":
        raise BadCheckpoint(path, "line 1 should be `version: 0`")
    try:
        return uuid.UUID(bytes=base64.urlsafe_b64decode(found.get("topic_id", "") + "=="))
    except ValueError:
        raise BadCheckpoint(path, "line 2 should be `topic_id: ` and 22 characters") from None


def write_topic_id(storage: Storage, directory: str, topic_id: uuid.UUID) -> None:
    """Write `partition.metadata` (KIP-516), without a line feed at the end, as Kafka does."""
    text = base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
    path = f"{directory}/{PARTITION_METADATA_FILE}"
    storage.write_atomically(path, f"version: 0\ntopic_id: {text}".encode(), sync=False)


def write_clean_shutdown(storage: Storage, data_directory: str, broker_epoch: int) -> None:
    """Write the file that says that all logs were closed and need no recovery, with the broker's
    epoch (KIP-966)."""
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    storage.write_atomically(f"{data_directory}/{CLEAN_SHUTDOWN_FILE}", content.encode())


def read_clean_shutdown(storage: Storage, data_directory: str) -> int:
    """Return the broker epoch that `write_clean_shutdown` wrote. Return -1 if there is no such file
    or it has no epoch: then the logs were closed by an earlier version, or not at all."""
    path = f"{data_directory}/{CLEAN_SHUTDOWN_FILE}"
    try:
        found = json.loads(storage.read_file(path)) if storage.exists(path) else {}
    except (ValueError, RecursionError):
        return -1
    epoch = found.get("brokerEpoch", -1) if isinstance(found, dict) else -1
    return epoch if isinstance(epoch, int) and _is_integer(str(epoch)) else -1
