"""A guarantee as reports, documents and other tools speak of it: all that is not its rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from linearizability.opinions.jepsen_rules import Rule

HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS


class Family(Enum):
    """Kinds of harm, the most serious first."""

    LOSS = "loss"
    ALTERED = "altered"
    DUPLICATE = "duplicate"
    TRANSACTION = "transaction"
    ORDER = "order"
    DELIVERY = "delivery"
    WAITING = "waiting"

    @property
    def rank(self) -> int:
        """0 for the most serious."""
        return list(Family).index(self)


@dataclass(frozen=True)
class About:
    """Everything that tables and documents list of one guarantee."""

    family: Family
    place: int
    """The order within a family: where several anomalies have one cause, the first says best what
    happened."""
    meaning: str
    """What its anomalies mean, in a few words."""
    picture: str
    """The title of the hand-written history that the documents draw."""
    claims: tuple[str, ...]
    """The claims of Kafka's documents that it holds brokers to (`ci/checks/guarantees.py`)."""
    kinds: Mapping[str, tuple[Family, str]] = field(default_factory=dict)
    """Its kinds of anomaly that mean something else than the rest."""
    clocks_ms: Mapping[str, int] = field(default_factory=dict)
    """Kind -> how far clocks must have been moved that a broker's own may explain it."""
    jepsen: tuple[str, Rule] | None = None
    """Jepsen's name for it, and when it is an error there; None: Jepsen does not look for it."""
    columns: tuple[str, ...] = ()
    """The columns that a picture of a log must show beside the values."""
    arrows: bool = False
    """Whether its anomalies are about who was given whose records."""
