"""The identity of a data directory: which node and cluster it belongs to, in `meta.properties`, in
Kafka's format.

Source: MetaProperties.java, MetaPropertiesVersion.java (version 1); KIP-631; KIP-858
(directory.id).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from reference_impl.core.storage import Space, Storage, StorageError

META_PROPERTIES = "meta.properties"
METADATA_DIRECTORY = "__cluster_metadata-0"
"""The directory of the metadata log. The first start makes it after meta.properties."""
_KEYS = ("version", "cluster.id", "node.id", "directory.id")


class WrongDirectory(Exception):
    """The data directory belongs to another node or cluster, or its meta.properties cannot be used.
    The message is one sentence for the user."""


def uuid_text(uuid: UUID) -> str:
    """Return a UUID as Kafka prints it: 22 characters of URL-safe base64 (Uuid.java)."""
    return base64.urlsafe_b64encode(uuid.bytes).decode().rstrip("=")


def uuid_of(text: str) -> UUID:
    """Return the UUID that `uuid_text` has written. Raise ValueError for any other text."""
    if not re.fullmatch("[A-Za-z0-9_-]{22}", text):
        raise ValueError("it is not 22 characters of URL-safe base64")
    return UUID(bytes=base64.urlsafe_b64decode(f"{text}=="))


@dataclass
class DataDirectory:
    """An opened data directory."""

    path: str
    cluster_id: str
    directory_id: UUID
    """The id of the directory itself, which distinguishes it from a later directory at the same
    place."""
    storage: Storage
    cordoning_changed: Callable[[], None] = lambda: None
    """A function that is called when the directory is cordoned, or no longer (cordoned.py)."""

    def space(self) -> Space | None:
        """Return the space of the volume that holds the directory, or None if it cannot be found
        out."""
        try:
            return self.storage.space(self.path)
        except StorageError:
            return None

    @classmethod
    def open(
        cls,
        storage: Storage,
        path: str,
        node_id: int,
        random_uuid: Callable[[], UUID],
        *,
        may_format: bool = True,
    ) -> DataDirectory:
        """Open the data directory: read its meta.properties. If there is none, format it for this
        node as a cluster of its own; if only the directory's id is missing, add one. Raise
        WrongDirectory if it may not be formatted, is another node's, or has lost its
        meta.properties or the values in it."""
        properties = _read(storage, path, node_id)
        if properties is None and not may_format:
            raise WrongDirectory(
                f"{path} is not formatted: all nodes of a cluster have one cluster id; give it to"
                " each by --cluster-id"
            )
        if properties is None or "directory.id" not in properties:
            properties = _written(storage, path, node_id, random_uuid, properties or {})
        try:
            directory_id = uuid_of(properties["directory.id"])
        except ValueError:
            raise WrongDirectory(
                f"{path}/{META_PROPERTIES}: directory.id={properties['directory.id']} is not an id"
                " of 22 letters and digits; bring the file back from a copy"
            ) from None
        return cls(path, properties["cluster.id"], directory_id, storage)

    @staticmethod
    def cluster_of(storage: Storage, path: str) -> str | None:
        """Return the id of the cluster that a directory belongs to, None if it is not formatted."""
        meta = f"{path}/{META_PROPERTIES}"
        if not storage.exists(meta):
            return None
        return _parse(storage.read_file(meta).decode("utf-8", "replace")).get("cluster.id")

    @staticmethod
    def format(
        storage: Storage, path: str, node_id: int, random_uuid: Callable[[], UUID], cluster_id: str
    ) -> None:
        """Format the directory for a node of this cluster, unless it already belongs to that. Raise
        WrongDirectory if it belongs to another node or cluster."""
        properties = _read(storage, path, node_id)
        if properties is None:
            _written(storage, path, node_id, random_uuid, {"cluster.id": cluster_id})
        elif properties["cluster.id"] != cluster_id:
            raise WrongDirectory(
                f"{path} belongs to cluster {properties['cluster.id']}, not to {cluster_id}: give"
                " another directory or that id"
            )


def _read(storage: Storage, path: str, node_id: int) -> dict[str, str] | None:
    """Return the content of meta.properties, or None if no node has ever started here. Make the
    directory if it does not exist. Raise WrongDirectory for a directory of another node, for one
    that has lost this file, and for a file that is not of version 1 or that no node wrote."""
    storage.make_directory(path)
    meta = f"{path}/{META_PROPERTIES}"
    if not storage.exists(meta):
        if storage.exists(f"{path}/{METADATA_DIRECTORY}"):
            raise WrongDirectory(
                f"{path} holds partitions, but no {META_PROPERTIES} that says whose they are:"
                " bring it back from a copy, or give another directory"
            )
        return None
    properties = _parse(storage.read_file(meta).decode("utf-8", "replace"))
    owner = properties.get("node.id")
    if properties.get("version") != "1" or "cluster.id" not in properties:
        raise WrongDirectory(f"{meta} is not of version 1; is {path} a data directory?")
    strange = [key for key in properties if key not in _KEYS]
    if "directory.id" not in properties and strange:
        # With a new id, the broker would lead none of its partitions (KIP-858).
        raise WrongDirectory(
            f"{meta} has no directory.id, but a key {strange[0]!r} that no node writes: bring it"
            " back from a copy"
        )
    if owner != str(node_id):
        raise WrongDirectory(
            f"{path} belongs to node {owner}, not to node {node_id}: give another directory or"
            f" node.id={owner}"
        )
    return properties


def _written(
    storage: Storage,
    path: str,
    node_id: int,
    random_uuid: Callable[[], UUID],
    known: dict[str, str],
) -> dict[str, str]:
    """Write meta.properties with the known values, and new ids for missing ones. Return its
    content."""
    properties = {
        "version": "1",
        "cluster.id": uuid_text(random_uuid()),
        "node.id": str(node_id),
        "directory.id": uuid_text(random_uuid()),
        **known,
    }
    text = "".join(f"{key}={value}\n" for key, value in sorted(properties.items()))
    storage.write_atomically(f"{path}/{META_PROPERTIES}", text.encode())
    return properties


def _parse(text: str) -> dict[str, str]:
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}
