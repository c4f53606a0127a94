"""Keep the epoch and the vote of a node in the file `quorum-state`, in Kafka's format.

Source: FileQuorumStateStore.java, QuorumStateData.json, ElectionState.java; KIP-595. The file has
version 0 while `kraft.version` is 0, and version 1, which names directories, from then on. If a
node forgot its vote, it could vote twice in an epoch, and the epoch could have two leaders.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from reference_impl.core.log.directories.data_directory import uuid_of, uuid_text
from reference_impl.core.quorum.voters.voter_set import ReplicaKey, VoterHistory
from reference_impl.core.storage import Storage, StorageError
from reference_impl.wire import ZERO_UUID

FILE = "quorum-state"
NOBODY = -1
EPOCH_MAX = 2**31 - 1
"""The last epoch: the protocol and the files hold an epoch in 32 bits."""


class BadQuorumState(StorageError):
    """The file `quorum-state` is damaged or not in its format, or its epoch is the last one.
    Nothing was changed."""


@dataclass(frozen=True, slots=True)
class ElectionState:
    """The newest epoch that a node knows of, the leader of that epoch (None if unknown), and the
    candidate that the node voted for in it (None if none)."""

    epoch: int = 0
    leader_id: int | None = None
    voted_id: int | None = None
    voted_directory: UUID = ZERO_UUID
    """The directory of that candidate, zero where version 0 of the file has forgotten it."""

    @property
    def voted(self) -> ReplicaKey | None:
        """Return the candidate that this node voted for in this epoch, or None if it has not
        voted."""
        return None if self.voted_id is None else (self.voted_id, self.voted_directory)


class ElectionFile:
    """The file `quorum-state` in the directory of the metadata log."""

    def __init__(self, storage: Storage, directory: str, voters: VoterHistory) -> None:
        self.path = f"{directory}/{FILE}"
        self._storage = storage
        self._voters = voters

    def load(self) -> ElectionState | None:
        """Read the file. Return None if there is none. Raise BadQuorumState if it is damaged."""
        if not self._storage.exists(self.path):
            return None
        try:
            row = json.loads(self._storage.read_file(self.path))
            if row["data_version"] not in (0, 1):
                raise ValueError(f"its version {row['data_version']} is neither 0 nor 1")
            return ElectionState(
                _number(row, "leaderEpoch"),
                _known(_number(row, "leaderId")),
                _known(_number(row, "votedId")),
                uuid_of(row["votedDirectoryId"]) if row["data_version"] else ZERO_UUID,
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise BadQuorumState(
                self.path,
                f"cannot be read ({type(error).__name__}: {error}): restore it from a copy; without"
                " it the node could vote twice in one epoch",
            ) from error

    def save(self, state: ElectionState) -> None:
        """Write the file, so that it survives a loss of power, in the version that the present
        kraft.version requires. Raise StorageError if the disk fails."""
        composition = self._voters.latest
        row: dict[str, Any] = {
            "leaderId": NOBODY if state.leader_id is None else state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": NOBODY if state.voted_id is None else state.voted_id,
        }
        if composition.kraft_version > 0:
            row |= {"votedDirectoryId": uuid_text(state.voted_directory), "data_version": 1}
        else:
            voters = [{"voterId": voter} for voter in composition.voters]
            row = {"clusterId": "", **row, "appliedOffset": 0, "currentVoters": voters}
            row["data_version"] = 0
        self._storage.write_atomically(self.path, json.dumps(row, separators=(",", ":")).encode())


def _number(row: dict[str, Any], key: str) -> int:
    value = row[key]
    if not isinstance(value, int) or not NOBODY <= value < 2**31:
        raise TypeError(f"{key} is not an integer from -1 to {2**31 - 1}")
    return value


def _known(node_id: int) -> int | None:
    return None if node_id == NOBODY else node_id
