"""The features of a cluster: which levels this version can work at, and which a new cluster has.

Source: KIP-584, KIP-1022 (features whose lowest level is 0); MetadataVersion.java, Feature.java,
KRaftVersion.java.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.core.quorum.voters.voter_set import KRAFT_VERSIONS
from reference_impl.core.storage import StorageError
from reference_impl.wire import Struct, definition

METADATA, GROUPS, TRANSACTIONS = "metadata.version", "group.version", "transaction.version"
KRAFT = "kraft.version"
"""The level of this feature is a record of the quorum, not of its metadata."""
ELIGIBLE_REPLICAS = "eligible.leader.replicas.version"

SUPPORTED: dict[str, tuple[int, int]] = {
    ELIGIBLE_REPLICAS: (0, 1),  # KIP-966: with one replica no other is ever eligible
    GROUPS: (0, 1),  # KIP-848
    KRAFT: KRAFT_VERSIONS,  # KIP-853
    METADATA: (30, 30),  # 4.3-IV0, whose metadata records this version writes
    TRANSACTIONS: (0, 2),  # KIP-890: an epoch for each, partitions added by writing to them
}
"""Feature -> the lowest and the highest level at which this version can work. Clients must not use
a feature that is missing here, such as share.version, whatever its level."""

REGISTERED = {**SUPPORTED, "share.version": (0, 1), "streams.version": (0, 1)}
"""The levels at which a node may belong to a cluster. Apache Kafka's clusters begin with those of
share groups (KIP-932) and streams groups (KIP-1071), which this version does not serve."""


class UnsupportedLevel(StorageError):
    """The cluster works at a level that this version does not know; nothing was changed."""


def check_levels(levels: Mapping[str, int], directory: str) -> None:
    """Raise UnsupportedLevel unless this version can work at these levels."""
    for name, (lowest, highest) in SUPPORTED.items():
        level = levels.get(name)
        if level is not None and not lowest <= level <= highest:
            raise UnsupportedLevel(
                directory,
                f"it belongs to a cluster at {name} {level}, and this version works at {lowest} to"
                f" {highest}; start the version that wrote it, or another directory",
            )


def first_levels() -> list[Struct]:
    """Return the records that set each feature to its highest level."""
    # Kafka begins with metadata.version, which says how to read the rest.
    names = sorted(SUPPORTED, key=lambda name: (name != METADATA, name))
    return [
        definition("FeatureLevelRecord").new(name=name, feature_level=SUPPORTED[name][1])
        for name in names
        if SUPPORTED[name][1] > 0 and name != KRAFT
    ]
