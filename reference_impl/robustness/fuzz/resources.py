"""Check that the broker's memory and descriptors do not grow. Topics and groups are deleted before
each sample, since they lawfully stay."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from reference_impl.robustness.fuzz.broker import Broker, Violation
from reference_impl.robustness.fuzz.world import remove_everything
from reference_impl.robustness.hostile.witness import TOPIC
from reference_impl.robustness.process import PATIENCE_S

GROWTH_BYTES_MAX = 48 << 20
"""The most bytes by which the memory may grow, not counting the largest step, since the first large
request may leave some memory behind once."""
STEP_BYTES_MAX = 96 << 20
"""The most bytes by which the memory may grow between two samples. One decompression bomb alone
would need 160 MiB."""


@dataclass
class Resources:
    """Samples of the broker's memory and descriptors, without what the attack has created."""

    broker: Broker
    resident: list[int] = field(default_factory=list)
    descriptors_before: int = 0

    def begin(self) -> None:
        """Note how many descriptors are open. Call this after a few requests, so that the internal
        topics and their files exist."""
        self.descriptors_before = self.broker.descriptors()

    def sample(self) -> None:
        """Delete topics and groups, then measure the memory."""
        remove_everything(self.broker, TOPIC)
        self.resident.append(self.broker.resident_bytes())

    def check(self) -> None:
        """Raise Violation if memory grew since the first sample by more than the limits, or if more
        descriptors are open than at `begin`, even after a generous time-out."""
        growth, step = growth_and_step(self.resident)
        if growth - step > GROWTH_BYTES_MAX or step > STEP_BYTES_MAX:
            raise Violation(
                f"memory grew: {[resident >> 20 for resident in self.resident]} MiB; at most"
                f" {STEP_BYTES_MAX >> 20} MiB are allowed in one step, and"
                f" {GROWTH_BYTES_MAX >> 20} MiB in all others"
            )
        deadline = time.monotonic() + PATIENCE_S
        while self.broker.descriptors() > self.descriptors_before:
            if time.monotonic() > deadline:
                raise Violation(
                    f"{self.broker.descriptors()} descriptors are open, after"
                    f" {self.descriptors_before} at the beginning"
                )
            time.sleep(0.1)


def growth_and_step(resident: Sequence[int]) -> tuple[int, int]:
    """Return (bytes never freed since the first sample, the largest growth between two samples): a
    leak comes in many steps, a plateau in one."""
    kept = [min(resident[at:]) for at in range(len(resident))]
    steps = [after - before for before, after in pairwise(kept)]
    return kept[-1] - kept[0], max(steps, default=0)
