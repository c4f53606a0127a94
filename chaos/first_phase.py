"""The beginning of a run: how its topics are made, and what the history says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaos.operations import CreateTopic
from chaos.protocols import Completion, Outcome, TopicSpec
from chaos.recorder import HistoryRecorder

RUNNER_PROCESS = -2
REPLICAS_MAX = 3
BROKER_SETTINGS = ("log.retention.check.interval.ms",)
"""What decides, beside a topic's own settings, when its records may go."""


def replicated(topic: TopicSpec, replicas: int, config: Mapping[str, str]) -> TopicSpec:
    """With three replicas an acknowledged record is on two: one loss must not matter.

    What the scenario says of min.insync.replicas is said of its topics, for the topics' own goes
    before the brokers'.
    """
    if "min.insync.replicas" in topic.config:
        return topic
    in_sync = config.get("min.insync.replicas", "2" if replicas >= REPLICAS_MAX else None)
    if in_sync is None:
        return topic
    return TopicSpec(topic.name, topic.partitions, {**topic.config, "min.insync.replicas": in_sync})


def record_topics(
    recorder: HistoryRecorder,
    topics: Sequence[TopicSpec],
    broker_config: Mapping[str, str],
    began_ns: int,
    wall_ns: int,
    done_ns: int,
) -> None:
    """The rows which say what the topics were made with, between these times."""
    of_brokers = {name: broker_config[name] for name in BROKER_SETTINGS if name in broker_config}
    for topic in topics:
        told = CreateTopic(TopicSpec(topic.name, topic.partitions, {**topic.config, **of_brokers}))
        context = {"session": 0, "client": "raw", "timestamp_ms": wall_ns // 1_000_000}
        recorder.record(
            recorder.next_op_id(), RUNNER_PROCESS, told, Completion(Outcome.OK), began_ns, done_ns,
            context,
        )  # fmt: skip
