"""The directory of one partition: the topic that it belongs to, and its new name once the partition
is deleted.

Source: LocalLog.java (logDeleteDirName), PartitionMetadataFile.java (KIP-516).
"""

from __future__ import annotations

from itertools import count
from uuid import UUID

from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.log.directories.checkpoints import read_topic_id, write_topic_id
from reference_impl.core.storage import Storage

DELETE_SUFFIX = "-delete"
NAME_BYTES_MAX = 255
"""The longest file name in bytes on most file systems. At most 249 of them can be the topic's
name."""


def claim_directory(storage: Storage, directory: str, topic: str, topic_id: UUID) -> None:
    """Write the topic id beside the log, if none is there yet. Raise CorruptLog if the directory
    belongs to another topic."""
    found = read_topic_id(storage, directory)
    if found is None:
        write_topic_id(storage, directory, topic_id)
    elif found != topic_id:
        raise CorruptLog(
            directory, f"it belongs to topic id {found}, but {topic} has {topic_id}; move it away"
        )


def deleted_directory(storage: Storage, directory: str, topic_id: UUID) -> str:
    """Return the new name of a partition's directory when its topic is deleted. It differs from
    those of earlier replicas of the same partition whose files are not deleted yet. A long topic
    name is cut to leave room for the suffix."""
    parent, _, name = directory.rpartition("/")
    topic, partition = name.rsplit("-", 1)

    def named(number: int) -> str:
        suffix = f"-{partition}.{number % 2**128:032x}{DELETE_SUFFIX}"
        return f"{parent}/{topic[: NAME_BYTES_MAX - len(suffix)]}{suffix}"

    return next(path for path in map(named, count(topic_id.int)) if not storage.exists(path))
