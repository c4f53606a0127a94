"""Set aside the directories of partitions that the cluster no longer knows: rename them, neither
open nor delete them.

A crash between the record that deletes a topic and the deletion of its files leaves them behind; so
does a metadata log that was lost. Under their old name they would block a new topic of the same
name. Source: LogManager.java (strayLogs), LogManager.isStrayReplica; Kafka renames them in the same
way.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from uuid import UUID

from reference_impl.core.controller.image.metadata_image import TopicImage
from reference_impl.core.log.directories.checkpoints import PARTITION_METADATA_FILE, read_topic_id
from reference_impl.core.quorum.metadata_log import TOPIC as METADATA_TOPIC
from reference_impl.core.storage import Storage

STRAY_SUFFIX = "-stray"
NAMED_MAX = 10
"""The number of stray directories that the log names one by one: a crash during the deletion of
thousands of partitions must not fill it."""


def set_aside(
    storage: Storage,
    directory: str,
    node_id: int,
    topics: Mapping[str, TopicImage],
    random_uuid: Callable[[], UUID],
) -> Iterator[str]:
    """Rename every stray directory. Yield a sentence for each of the first ones, then one for all
    others."""
    strays = [
        name
        for name in storage.list(directory)
        if is_stray(storage, f"{directory}/{name}", node_id, topics)
    ]
    for number, name in enumerate(strays):
        aside = f"{name}.{random_uuid().hex}{STRAY_SUFFIX}"
        storage.rename(f"{directory}/{name}", f"{directory}/{aside}")
        if number < NAMED_MAX:
            yield (
                f"{directory}/{name} belongs to no topic of this cluster and was renamed to"
                f" {aside}; delete it if it is not needed"
            )
    if len(strays) > NAMED_MAX:
        yield (
            f"{len(strays) - NAMED_MAX:,} more directories in {directory} belong to no topic of"
            f" this cluster and were renamed to …{STRAY_SUFFIX}; delete what is not needed"
        )


def is_stray(storage: Storage, path: str, node_id: int, topics: Mapping[str, TopicImage]) -> bool:
    """Return whether this is the directory of a partition that does not exist (any more), or that
    other nodes hold. The metadata log, and a directory without partition.metadata, are never
    strays."""
    topic_name, _, index = posixpath.basename(path).rpartition("-")
    if not index.isdecimal() or topic_name == METADATA_TOPIC:
        return False
    if not storage.exists(f"{path}/{PARTITION_METADATA_FILE}"):
        return False
    topic = topics.get(topic_name)
    if topic is None or int(index) not in topic.partitions:
        return True
    if node_id not in topic.partitions[int(index)].replicas:
        return True
    return read_topic_id(storage, path) not in (None, topic.topic_id)
