"""The owner of a data directory: `meta.properties`, in Kafka's format.

Source: MetaProperties.java, MetaPropertiesVersion.java (version 1); KIP-631; KIP-858
(directory.id).
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from reference_impl.core.storage import Space, Storage, StorageError

META_PROPERTIES = "meta.properties"
METADATA_DIRECTORY = "__cluster_metadata-0"
"""Made by the first start, after the file."""


class WrongDirectory(Exception):
    """The data directory belongs to something else; the message is one sentence for a person."""


def uuid_text(uuid: UUID) -> str:
    """Return a UUID as Kafka prints it: 22 characters of URL-safe base64 (Uuid.java)."""
    return base64.urlsafe_b64encode(uuid.bytes).decode().rstrip("=")


@dataclass
class DataDirectory:
    """An opened data directory."""

    path: str
    cluster_id: str
    storage: Storage

    def space(self) -> Space | None:
        """Return the space of the volume that holds the directory, or None if unknown."""
        try:
            return self.storage.space(self.path)
        except StorageError:
            return None

    @classmethod
    def open(
        cls, storage: Storage, path: str, node_id: int, random_uuid: Callable[[], UUID]
    ) -> DataDirectory:
        """Read who it belongs to, or format it for this node."""
        storage.make_directory(path)
        meta = f"{path}/{META_PROPERTIES}"
        if storage.exists(meta):
            properties = _parse(storage.read_file(meta).decode("utf-8", "replace"))
            owner = properties.get("node.id")
            if properties.get("version") != "1" or "cluster.id" not in properties:
                raise WrongDirectory(f"{meta} is not of version 1; is {path} a data directory?")
            if owner != str(node_id):
                raise WrongDirectory(
                    f"{path} belongs to node {owner}, not to node {node_id}: give another directory"
                    f" or node.id={owner}"
                )
        else:
            if storage.exists(f"{path}/{METADATA_DIRECTORY}"):
                raise WrongDirectory(
                    f"{path} holds partitions, but no {META_PROPERTIES} that says whose they are:"
                    " bring it back from a copy, or give another directory"
                )
            properties = {
                "version": "1",
                "cluster.id": uuid_text(random_uuid()),
                "node.id": str(node_id),
                "directory.id": uuid_text(random_uuid()),
            }
            text = "".join(f"{key}={value}\n" for key, value in sorted(properties.items()))
            storage.write_atomically(meta, text.encode())
        return cls(path, properties["cluster.id"], storage)


def _parse(text: str) -> dict[str, str]:
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}
