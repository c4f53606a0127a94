"""Vary some settings of topics, brokers and clients by a run's seed, so that rare events become
frequent.

Each setting is drawn for some runs only, so that the usual settings are also tested. The settings
of the workload or the scenario override those drawn; run.json keeps what was drawn, under `drawn`.
Targets that are not ours are not varied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from chaos.values.protocols import ClientSettings, Operation, Send, TopicSpec, Workload

CODECS = ("gzip", "snappy", "lz4", "zstd")
OF_TOPICS: Mapping[str, tuple[float, tuple[str, ...]]] = {
    "segment.ms": (0.4, ("1000", "2000", "4000")),
    "index.interval.bytes": (0.4, ("0", "64", "512")),
    "compression.type": (0.3, ("uncompressed", *CODECS)),
    "message.timestamp.type": (0.15, ("LogAppendTime",)),
}
"""Topic setting -> the share of runs that get it, and its possible values. A broker whose codec
differs, or which sets the timestamps, rewrites batches."""
OF_BROKERS: Mapping[str, tuple[float, tuple[str, ...]]] = {
    "max.incremental.fetch.session.cache.slots": (0.3, ("0", "1", "3"))
}
BROKERS_NAMES = {
    "segment.ms": ("log.roll.ms", "log.roll.hours"),
    "index.interval.bytes": ("log.index.interval.bytes",),
    "compression.type": ("compression.type",),
    "message.timestamp.type": ("log.message.timestamp.type",),
}
"""Topic setting -> the broker settings by which a scenario may set it for all topics."""
PARTITIONS_MAX = 20
"""The most partitions of a topic whose segments may be short: a hundred partitions would have
thousands of files."""
FETCH_BYTES = (1, 500, 20_000)
FILLING_MAX = 300
JITTER_MS = 300
"""The largest difference in milliseconds between a sender's timestamps and the current time; with a
larger one, every batch would begin a new segment."""


@dataclass(frozen=True)
class Variety:
    """The settings that were drawn for a run: those of topics, those of brokers, and whether each
    client process draws its own."""

    seed: int
    topic: Mapping[str, str] = field(default_factory=dict)
    brokers: Mapping[str, str] = field(default_factory=dict)
    clients: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the settings for run.json."""
        return {"topics": dict(self.topic), "brokers": dict(self.brokers), "clients": self.clients}

    def of_topic(self, topic: TopicSpec) -> TopicSpec:
        """Return the topic with the drawn settings added to its own."""
        drawn = dict(self.topic)
        if topic.partitions > PARTITIONS_MAX:
            drawn.pop("segment.ms", None)
        if topic.config:  # their timestamps decide when records may be deleted
            drawn.pop("message.timestamp.type", None)
        return replace(topic, config={**drawn, **topic.config})

    def of_client(self, process: int, settings: ClientSettings) -> ClientSettings:
        """Return the settings, for some processes with small fetches, single batches or a codec,
        unless they choose these themselves. The same seed and process always give the same."""
        if not self.clients:
            return settings
        rng = Random(f"{self.seed}:client:{process}")
        fetch_bytes = rng.choice(FETCH_BYTES) if rng.random() < 0.25 else None
        codec = rng.choice(CODECS) if rng.random() < 0.3 else settings.compression
        return replace(
            settings,
            fetch_bytes=settings.fetch_bytes or fetch_bytes,
            batches_of_one=settings.batches_of_one or rng.random() < 0.3,
            compression=codec if settings.compression == "none" else settings.compression,
        )

    def dresser(self, process: int, times: bool, wall_ns: Callable[[], int]) -> Dresser:
        """Return the Dresser of a process, which, for some processes, adds keys and headers or
        timestamps to sends. times: whether it may set timestamps. wall_ns: returns the time in
        nanoseconds."""
        rng = Random(f"{self.seed}:dress:{process}")
        dresses, sets_times = rng.random() < 0.4, times and rng.random() < 0.3
        return Dresser(rng, self.clients and dresses, self.clients and sets_times, wall_ns)


@dataclass(frozen=True)
class Dresser:
    """Gives the records of a process keys, headers and timestamps."""

    rng: Random
    dresses: bool
    sets_times: bool
    wall_ns: Callable[[], int]

    def dress(self, operation: Operation) -> Operation:
        """Return the operation, unless it is a send to which keys and headers (`dresses`) or
        timestamps (`sets_times`) are to be added: then return a copy with those that it lacks."""
        if not isinstance(operation, Send) or not (self.dresses or self.sets_times):
            return operation
        count = len(operation.values)
        filling, timestamps = operation.filling, operation.timestamps
        if self.dresses and not filling:
            filling = tuple(self.rng.randrange(FILLING_MAX) for _ in range(count))
        if self.sets_times and not timestamps:
            now_ms = self.wall_ns() // 1_000_000
            timestamps = tuple(
                now_ms + self.rng.randint(-JITTER_MS, JITTER_MS) for _ in range(count)
            )
        return replace(operation, filling=filling, timestamps=timestamps)


def plain(seed: int = 0) -> Variety:
    """Return a Variety in which no setting was drawn."""
    return Variety(seed)


def drawn(seed: int, workload: Workload, config: Mapping[str, str]) -> Variety:
    """Draw the variety of a run. config: the scenario's settings of the brokers."""
    rng = Random(f"{seed}:variety")
    topic = _chosen(OF_TOPICS, rng)
    brokers = _chosen(OF_BROKERS, rng)
    for name, names in BROKERS_NAMES.items():
        if any(one in config for one in names):
            topic.pop(name, None)
    said = {**workload.config, **config}
    return Variety(
        seed, topic, {name: value for name, value in brokers.items() if name not in said}, True
    )


def _chosen(table: Mapping[str, tuple[float, tuple[str, ...]]], rng: Random) -> dict[str, str]:
    chosen = {}
    for name, (share, values) in table.items():
        value, is_drawn = rng.choice(values), rng.random() < share
        if is_drawn:
            chosen[name] = value
    return chosen
