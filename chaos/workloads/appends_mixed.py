"""Appends with many kinds of records: keys, headers, every codec, and sizes up to a megabyte."""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice
from random import Random

from chaos.values.protocols import ClientSettings, Completion, Operation, Send
from chaos.workloads.appends import Appends
from chaos.workloads.values import values_of

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
"""The codecs (CompressionType.java). Each producer uses one, so that a partition's log contains all
of them."""
FILLING_MAX = 980_000
"""The most filling bytes of a record. With the rest of its batch it is just below a megabyte, the
most that librdkafka sends by default."""
LARGE_SHARE = 0.01
USUAL_MAX = 2_000


class AppendsMixed(Appends):
    """Append records with keys, headers, all codecs, and sizes up to a megabyte."""

    name = topic = "appends-mixed"
    records_per_send_max = 4

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(compression=CODECS[process % len(CODECS)])

    def send(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Send small batches, and one time in a hundred a single record of random size."""
        values = values_of(process)
        while True:
            if rng.random() < LARGE_SHARE:
                sizes: tuple[int, ...] = (rng.randrange(FILLING_MAX),)
            else:
                count = rng.randint(1, self.records_per_send_max)
                sizes = tuple(rng.randrange(USUAL_MAX) for _ in range(count))
            batch = tuple(islice(values, len(sizes)))
            yield Send(self.topic, rng.randrange(self.partitions), batch, filling=sizes)
