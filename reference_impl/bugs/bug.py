"""What a planted bug is: a Node and Rules which differ from the correct ones in one decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reference_impl.core.node import Node
from reference_impl.core.rules import Rules


@dataclass(frozen=True)
class Bug:
    """One row of the table BUGS."""

    rules: type[Rules]
    node: type[Node] = Node
    workload: str = "appends"
    nemesis: str = "kill"
    """Under which it shows."""
    config: Mapping[str, str] = field(default_factory=dict)
    """The broker's, with which it shows."""
    client: str = "confluent"
    """Whose clients must be asked, where others do not live to tell."""

    def parts(self) -> tuple[type[Node], Rules]:
        """What to build a broken broker from."""
        return self.node, self.rules()
