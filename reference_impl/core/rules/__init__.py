"""The decisions on which the safety of the broker depends: each has a name, a source (a KIP or a
class of Kafka's) and a chapter in this folder.

Read the chapters as the list of invariants. A planted bug (`reference_impl/bugs`) is a subclass of
Rules that overrides one decision, mostly one method; the rest of the broker cannot tell the
difference.
"""

from __future__ import annotations

from reference_impl.core.rules.agreeing import Agreeing
from reference_impl.core.rules.coordinating import Coordinating
from reference_impl.core.rules.deleting import Deleting
from reference_impl.core.rules.electing import Electing
from reference_impl.core.rules.grouping import Grouping
from reference_impl.core.rules.producing import ACKS_ALL, Producing
from reference_impl.core.rules.reading import READ_COMMITTED, Reading
from reference_impl.core.rules.recovering import Recovering
from reference_impl.core.rules.replicating import Replicating
from reference_impl.core.rules.transacting import Transacting

__all__ = ["ACKS_ALL", "READ_COMMITTED", "Rules"]


class Rules(
    Producing,
    Recovering,
    Reading,
    Deleting,
    Grouping,
    Transacting,
    Electing,
    Coordinating,
    Agreeing,
    Replicating,
):
    """The decisions of a correct broker."""
