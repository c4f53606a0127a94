"""The facts about a guarantee that reports, documents and other tools need, besides its rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from linearizability.opinions.jepsen_rules import Rule

HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS


class Family(Enum):
    """The kinds of harm that broken guarantees do, the most serious first."""

    LOSS = "loss"
    ALTERED = "altered"
    DUPLICATE = "duplicate"
    TRANSACTION = "transaction"
    ORDER = "order"
    DELIVERY = "delivery"
    WAITING = "waiting"

    @property
    def rank(self) -> int:
        """The position of the kind of harm: 0 for the most serious."""
        return list(Family).index(self)


@dataclass(frozen=True)
class About:
    """Everything that tables and documents say about one guarantee."""

    family: Family
    place: int
    """The order within a family. If several anomalies have one cause, the first one in this order
    describes it best."""
    meaning: str
    """The meaning of its anomalies, in a few words."""
    picture: str
    """The title of the hand-written history that the documents draw as its picture."""
    claims: tuple[str, ...]
    """The ids of the claims in Kafka's documents that it checks (`ci/checks/guarantees.py`)."""
    kinds: Mapping[str, tuple[Family, str]] = field(default_factory=dict)
    """Kind of anomaly -> its own family and meaning, for kinds that differ from the rest."""
    clocks_ms: Mapping[str, int] = field(default_factory=dict)
    """Kind of anomaly -> by how many milliseconds clocks must have been moved before that may
    explain the anomaly."""
    jepsen: tuple[str, Rule] | None = None
    """Jepsen's name for the anomaly, and the rule for when it is an error there, or None if
    Jepsen does not look for it."""
    columns: tuple[str, ...] = ()
    """The columns that a picture of a log must show beside the values."""
    arrows: bool = False
    """Whether its anomalies are about which transaction received records of which other one."""
