"""Format the directory of a first voter, as `kafka-storage format --standalone` and
`--initial-controllers` do (KIP-853).

Source: Formatter.java. The voters stand in a snapshot of an empty log; the first leader copies them
into the log, where the others learn of them.
"""

from __future__ import annotations

import base64
import re
from uuid import UUID

from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.log.directories.data_directory import METADATA_DIRECTORY, uuid_of
from reference_impl.core.quorum.snapshots.snapshot_file import BOOTSTRAP, UnfinishedSnapshot
from reference_impl.core.quorum.voters.voter_set import (
    CONFIGURED,
    KRAFT_VERSIONS,
    Composition,
    Voter,
    Voters,
    voters_of,
)
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.storage import Storage

_INITIAL = re.compile(r"(\d+)@(\[[^\]]+\]|[^:\s]+):(\d{1,5}):([A-Za-z0-9_-]{22})")


def format_voters(storage: Storage, path: str, voters: Voters, now_ms: int) -> None:
    """Name the first voters in a data directory, unless it has a metadata log already. Raise
    StorageError."""
    directory = f"{path}/{METADATA_DIRECTORY}"
    if storage.exists(directory):
        return
    storage.make_directory(directory)
    snapshot = UnfinishedSnapshot(storage, directory, BOOTSTRAP, 1)
    snapshot.begin(now_ms, now_ms, Composition(CONFIGURED, KRAFT_VERSIONS[1], voters))
    snapshot.end(now_ms)


def initial_voters(text: str, listener: str) -> Voters:
    """Parse ID@host:port:DIRECTORY,… as `--initial-controllers` has it. Raise BadConfig."""
    found = []
    for item in text.split(","):
        match = _INITIAL.fullmatch(item.strip())
        if match is None:
            raise BadConfig(
                f"--initial-controllers {item}: write each as ID@host:port:DIRECTORY, with a"
                f" directory id such as {base64.urlsafe_b64encode(UUID(int=1).bytes).decode()[:22]}"
            )
        endpoint = Endpoint(match[2].strip("[]"), int(match[3]))
        found.append(first_voter(int(match[1]), uuid_of(match[4]), {listener: endpoint}))
    if len({voter.node_id for voter in found}) < len(found):
        raise BadConfig(f"--initial-controllers {text}: a node stands twice; name each once")
    return voters_of(*found)


def first_voter(node_id: int, directory_id: UUID, endpoints: dict[str, Endpoint]) -> Voter:
    """Return a voter of this version."""
    return Voter(node_id, directory_id, endpoints, KRAFT_VERSIONS)
