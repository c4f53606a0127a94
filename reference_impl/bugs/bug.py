"""What a planted bug is: a Node and Rules which differ from the correct ones in one decision."""

from __future__ import annotations

from dataclasses import dataclass

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

    def parts(self) -> tuple[type[Node], Rules]:
        """What to build a broken broker from."""
        return self.node, self.rules()
