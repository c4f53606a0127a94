"""The bench of failovers measures the longest time between two acknowledgements; the clusters are
the targets'."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

import pytest

from chaos.values.faults import Heal, Kill
from ci.bench import failovers
from conformance.wire import Topic

OUTAGE_S = 0.5


class Cluster:
    """A cluster that acknowledges nothing for OUTAGE_S after a kill."""

    def __init__(self) -> None:
        self.performed: list[object] = []
        self._silent_until_s = 0.0

    def perform(self, fault: object) -> None:
        self.performed.append(fault)
        if isinstance(fault, Kill):
            self._silent_until_s = time.monotonic() + OUTAGE_S

    def acknowledges(self) -> bool:
        return time.monotonic() >= self._silent_until_s

    def wait_ready(self) -> None:
        """A node is back as soon as it is started."""


class Wire:
    """A client that sees all replicas in sync."""

    def forget_connections(self) -> None:
        """There are none."""

    def topic_metadata(self, name: str) -> Any:
        partition = type("Partition", (), {"isr_nodes": [1], "replica_nodes": [1]})
        return type("Topic", (), {"partitions": [partition]})


def test_the_gap_is_the_time_without_an_acknowledgement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failovers, "BEFORE_S", 0.1)
    monkeypatch.setattr(failovers, "AFTER_S", 0.1)
    cluster: Any = Cluster()
    wire: Any = Wire()
    topic = Topic("t", UUID(int=1), 1)
    gap_s = failovers.longest_gap(cluster, wire, topic, cluster.acknowledges, victim=2)
    assert OUTAGE_S <= gap_s < OUTAGE_S + 5
    assert cluster.performed == [Kill(2), Heal()]


def test_a_client_gets_no_answer_where_no_broker_can_be_reached() -> None:
    client = failovers.Client(lambda: [("127.0.0.1", 1), ("127.0.0.1", 2)])
    body: Any = None
    assert client.call("Metadata", 12, body) is None
