"""Append to dozens of partitions on every node."""

from __future__ import annotations

from chaos.workloads.appends import Appends


class FanOut(Appends):
    """Append to a hundred partitions, so that one fault affects dozens of leaders at once."""

    name = topic = "fan-out"
    partitions = 100
