"""Hostile clients against the reference: what another client in another process notices."""

from __future__ import annotations

import os
import time
from pathlib import Path

from reference_impl.host.tests.process import BrokerProcess
from reference_impl.tests.hostile import attacks
from reference_impl.tests.hostile.witness import Witness

SECONDS = 4


def cpu_s(broker: BrokerProcess) -> float:
    """User and system time (proc(5), stat)."""
    stat = Path(f"/proc/{broker.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def test_a_pile_of_pipelined_requests_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Neither while its clients are there nor once they have gone."""
    with BrokerProcess(tmp_path / "data") as broker:
        attacks.many_topics(broker)
        with Witness(broker) as witness:
            attacks.pipeline(broker, SECONDS)
            witness.stop()
        assert witness.failure is None
        assert witness.longest_s < 5, "one request after another was handed over in one turn"
        time.sleep(1)
        before_s = cpu_s(broker)
        time.sleep(1)
        assert cpu_s(broker) - before_s < 0.3, "the broker works on for clients that have gone"
