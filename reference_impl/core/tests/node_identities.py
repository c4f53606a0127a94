"""Name the nodes of a test's cluster: their addresses, directories, and entries as voters."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from reference_impl.core.log.directories.data_directory import uuid_of
from reference_impl.core.quorum.snapshots.formatting import first_voter
from reference_impl.core.quorum.voters.voter_set import Voter
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.storage import MemoryStorage

CLUSTER_ID = "touchstone-test-clust1"
CONTROLLER_PORT = 9093


def address(node: int) -> Endpoint:
    """Return the address of a node."""
    return Endpoint(f"node-{node}", 9092)


def voter(node: int) -> Voter:
    """Return the voter that a node of this cluster is."""
    controller = {"CONTROLLER": replace(address(node), port=CONTROLLER_PORT)}
    return first_voter(node, directory_id(node), controller)


def directory_id(node: int) -> UUID:
    """Return the id of the first directory of a node."""
    return uuid_of(f"{node}{'A' * 21}")


def format_directory(storage: MemoryStorage, node: int, fill: str = "A") -> None:
    """Make the disk one of a node of this cluster, as `kafka-storage format` does. fill: a letter
    of the directory's id."""
    storage.make_directory("data")
    lines = f"cluster.id={CLUSTER_ID}\ndirectory.id={node}{fill * 20}A\nnode.id={node}\nversion=1\n"
    storage.write_atomically("data/meta.properties", lines.encode())
