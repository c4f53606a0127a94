"""Transactions that read what they process: by a reader of their own, or as members of a group.

A member's transaction commits the positions of what it read together with what it wrote (KIP-447).
Who takes a partition over is told its position when that transaction has ended (require_stable).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from linearizability.self_test.consumers import COMMITTED, Consumer
from linearizability.self_test.world import World

GROUP = "processors"


@dataclass
class Inputs:
    """What the group has committed, and the partitions that transactions have under way."""

    committed: dict[int, int] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)

    def end(self, reader: Consumer | None, end: str) -> None:
        """The transaction of this reader has an end: commit or abort."""
        if reader is None or reader.group != GROUP:
            return
        self.taken -= set(reader.positions)
        if end == "commit":
            self.committed |= reader.positions


def reader_in(world: World, inputs: Inputs, process: int, txn: int) -> Consumer | None:
    """What reads in a transaction; None: nothing does."""
    rng = world.rng
    if rng.random() < 0.4:
        return None
    free = [p for p in world.partitions if p.number not in inputs.taken]
    reader = Consumer(world, GROUP if free and rng.random() < 0.5 else None)
    reader.process, reader.isolation, reader.txn = process, COMMITTED, txn
    if reader.group is None:
        reader.assign(rng)  # it begins where it likes
    else:
        number = rng.choice(free).number
        reader.positions = {number: inputs.committed.get(number, 0)}
        inputs.taken.add(number)
    reader.session = txn  # unique in the run: positions are set anew
    return reader
