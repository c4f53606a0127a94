"""Memory and descriptors do not grow: what the protocol makes persistent is deleted first."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from reference_impl.host.tests.process import PATIENCE_S
from reference_impl.tests.fuzz.broker import Broker, Violation
from reference_impl.tests.fuzz.canary import TOPIC
from reference_impl.tests.fuzz.world import remove_everything

GROWTH_BYTES_MAX = 48 << 20
"""Beyond what the process had after its warm-up. One bomb alone would ask for 160 MiB."""


@dataclass
class Resources:
    """What the broker held at several moments, with nothing of the attack's left in it."""

    broker: Broker
    resident: list[int] = field(default_factory=list)
    descriptors_before: int = 0

    def begin(self) -> None:
        """After the first requests: the internal topics exist, and so do their files."""
        self.descriptors_before = self.broker.descriptors()

    def sample(self) -> None:
        """Delete topics and groups, then look at the memory."""
        remove_everything(self.broker, TOPIC)
        self.resident.append(self.broker.resident_bytes())

    def check(self) -> None:
        """Raise Violation if the memory grew since the first samples, or descriptors leak."""
        growth = min(self.resident[-2:]) - min(self.resident[:2])
        if growth > GROWTH_BYTES_MAX:
            raise Violation(f"memory grew: {[resident >> 20 for resident in self.resident]} MiB")
        deadline = time.monotonic() + PATIENCE_S
        while self.broker.descriptors() > self.descriptors_before:
            if time.monotonic() > deadline:
                raise Violation(
                    f"{self.broker.descriptors()} descriptors are open, after"
                    f" {self.descriptors_before} at the beginning"
                )
            time.sleep(0.1)
