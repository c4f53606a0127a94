"""Format the directory of a first voter, as `kafka-storage format --standalone` and
`--initial-controllers` do (KIP-853), and read what that tool has written.

Source: Formatter.java, BootstrapDirectory.java. The voters stand in a snapshot of an empty log, the
first metadata records in `bootstrap.checkpoint`; the first leader copies both into the log, where
the others learn of them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from uuid import UUID

from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.log.directories.data_directory import METADATA_DIRECTORY, uuid_of
from reference_impl.core.quorum.snapshots.snapshot_file import (
    BOOTSTRAP,
    UnfinishedSnapshot,
    read_snapshot,
    whole,
)
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
from reference_impl.wire import Struct

FIRST_RECORDS = "bootstrap.checkpoint"
_INITIAL = re.compile(r"(\d+)@(\[[^\]]+\]|[^:\s]+):(\d{1,5}):([A-Za-z0-9_-]{22})")


def format_voters(storage: Storage, path: str, voters: Voters, now_ms: int) -> None:
    """Write the first voters into a data directory, as a snapshot of an empty metadata log. Do
    nothing if it has a metadata log already. Raise StorageError if the disk fails."""
    directory = f"{path}/{METADATA_DIRECTORY}"
    if storage.exists(directory):
        return
    storage.make_directory(directory)
    snapshot = UnfinishedSnapshot(storage, directory, BOOTSTRAP, 1)
    snapshot.begin(now_ms, now_ms, Composition(CONFIGURED, KRAFT_VERSIONS[1], voters))
    snapshot.end(now_ms)


def first_records(storage: Storage, path: str) -> Sequence[Struct]:
    """Return the records with which a cluster begins whose directory `kafka-storage format` has
    formatted: the levels of features, and users of SCRAM. Return none if another tool has formatted
    it. Raise DamagedSnapshot if the file is damaged, another StorageError if the disk fails."""
    file = f"{path}/{FIRST_RECORDS}"
    if not storage.exists(file):
        return ()
    return whole(read_snapshot(storage, file, BOOTSTRAP)).records


def initial_voters(text: str, listener: str) -> Voters:
    """Parse ID@host:port:DIRECTORY,… as `--initial-controllers` has it, with addresses on this
    listener. Raise BadConfig if the text is not of this form, or names a node twice."""
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
        raise BadConfig(f"--initial-controllers {text}: a node is named twice; name each once")
    return voters_of(*found)


def first_voter(node_id: int, directory_id: UUID, endpoints: dict[str, Endpoint]) -> Voter:
    """Return a voter for the first snapshot, with the kraft.versions that this program supports."""
    return Voter(node_id, directory_id, endpoints, KRAFT_VERSIONS)
