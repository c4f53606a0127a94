"""Keep the epoch and the vote of a node in the file `quorum-state`, in Kafka's format.

Source: FileQuorumStateStore.java, QuorumStateData.json, ElectionState.java; KIP-595. The file has
version 0 while `kraft.version` is 0, and version 1 (which names directories) from KIP-853 on. If a
node forgot its vote, it could vote twice in an epoch, and the epoch could have two leaders.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from reference_impl.core.storage import Storage, StorageError

FILE = "quorum-state"
NOBODY = -1


class BadQuorumState(StorageError):
    """The file `quorum-state` is damaged or not in its format. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class ElectionState:
    """The newest epoch that a node knows of, its leader, and the candidate it voted for in it."""

    epoch: int = 0
    leader_id: int | None = None
    voted_id: int | None = None


class ElectionFile:
    """The file `quorum-state` in the directory of the metadata log."""

    def __init__(self, storage: Storage, directory: str, voters: Collection[int]) -> None:
        self.path = f"{directory}/{FILE}"
        self._storage = storage
        self._voters = sorted(voters)

    def load(self) -> ElectionState | None:
        """Read the file, and return None if there is none. Raise BadQuorumState."""
        if not self._storage.exists(self.path):
            return None
        try:
            row = json.loads(self._storage.read_file(self.path))
            if row["data_version"] not in (0, 1):
                raise ValueError(f"its version {row['data_version']} is newer than 1")
            return ElectionState(
                _number(row, "leaderEpoch"),
                _known(_number(row, "leaderId")),
                _known(_number(row, "votedId")),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise BadQuorumState(
                self.path,
                f"cannot be read ({type(error).__name__}: {error}): restore it from a copy; without"
                " it the node could vote twice in one epoch",
            ) from error

    def save(self, state: ElectionState) -> None:
        """Write the file, so that it survives a loss of power. Raise StorageError."""
        row = {
            "clusterId": "",
            "leaderId": NOBODY if state.leader_id is None else state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": NOBODY if state.voted_id is None else state.voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter} for voter in self._voters],
            "data_version": 0,
        }
        self._storage.write_atomically(self.path, json.dumps(row, separators=(",", ":")).encode())


def _number(row: dict[str, Any], key: str) -> int:
    value = row[key]
    if not isinstance(value, int):
        raise TypeError(f"{key} is no number")
    return value


def _known(node_id: int) -> int | None:
    return None if node_id == NOBODY else node_id
