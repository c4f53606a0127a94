"""Measure the cost of recording: one confluent producer at full speed, with and without the
recorder in turn."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

from chaos.clients.confluent.client import ConfluentClient
from chaos.means.real_world import REAL_WORLD
from chaos.record.recorder import measure_overhead
from chaos.targets import parse_target
from chaos.values.protocols import ClientSettings, Completion, Operation, Send
from ci.bench.table import Ratio, Table
from conformance.target.examination import advertised_versions
from conformance.wire import Wire

RECORDS_PER_SEND = 20
BOUND = 0.10
SLICES = 20
"""The number of pairs of time slices. On a shared machine a few slices would say little."""


def run() -> Table:
    """Measure the client's operations per second without and with the recorder, and the share of
    the rate that recording takes. Return a table of one row."""
    table = Table(("client", "op/s without", "op/s with", "share that recording takes"))
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as scratch:
        cluster = parse_target("reference").start(Path(scratch) / "target")
        try:
            wire = Wire(cluster.bootstrap, advertised_versions(cluster.bootstrap))
            topic = wire.create_topic(partitions=1)
            wire.close()
            client = ConfluentClient(REAL_WORLD, cluster.bootstrap, ClientSettings(), b"bench")
            values = itertools.count(1)

            def perform() -> tuple[Operation, Completion]:
                batch = tuple(itertools.islice(values, RECORDS_PER_SEND))
                operation = Send(topic.name, 0, batch)
                return operation, REAL_WORLD.run(client.perform(operation))

            perform()
            measured = measure_overhead(perform, Path(scratch) / "histories", slices=SLICES)
            REAL_WORLD.run(client.close())
        finally:
            cluster.stop()
    table.add(
        "confluent, acks=all",
        measured.rate_without,
        measured.rate_with,
        Ratio(measured.share, at_most=BOUND),
    )
    return table
