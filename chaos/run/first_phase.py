"""The beginning of a run: create its topics, and record their settings in the history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from chaos.values.operations import CreateTopic
from chaos.values.protocols import Completion, Outcome, TargetError, TopicSpec, Workload
from chaos.values.recorder import Recorder

RUNNER_PROCESS = -2
REPLICAS_MAX = 3
TOPIC_DEFAULTS: Mapping[str, str] = {
    "log.cleanup.policy": "cleanup.policy",
    "log.retention.bytes": "retention.bytes",
    "log.cleaner.delete.retention.ms": "delete.retention.ms",
    "log.retention.check.interval.ms": "log.retention.check.interval.ms",  # of brokers alone
    "log.initial.task.delay.ms": "log.initial.task.delay.ms",  # of brokers alone
    "unclean.leader.election.enable": "unclean.leader.election.enable",
    "log.message.timestamp.type": "message.timestamp.type",
}
"""Broker setting -> topic setting, for the settings that decide when records may be deleted or
lost, and which clock sets their timestamps (ServerTopicConfigSynonyms)."""
RETENTION_TIMES: Mapping[str, int] = {
    "log.retention.ms": 1,
    "log.retention.minutes": 60_000,
    "log.retention.hours": 3_600_000,
}
"""Broker setting -> its unit in milliseconds. The first one that is set is in force
(AbstractKafkaConfig)."""
FOR_EVER_MS = -1


def replicated(topic: TopicSpec, replicas: int, config: Mapping[str, str]) -> TopicSpec:
    """Return the topic with min.insync.replicas: its own, else the scenario's, else 2 with three
    replicas: then an acknowledged record is on two, so that one loss does not matter. Return the
    topic as it is if none applies. The scenario's value is set on its topics, because a topic's
    setting overrides the brokers'."""
    if "min.insync.replicas" in topic.config:
        return topic
    in_sync = config.get("min.insync.replicas", "2" if replicas >= REPLICAS_MAX else None)
    if in_sync is None:
        return topic
    return replace(topic, config={**topic.config, "min.insync.replicas": in_sync})


def topic_defaults(broker_config: Mapping[str, str]) -> dict[str, str]:
    """Return the topic settings that follow from these broker settings for topics without settings
    of their own."""
    found = {
        of_topics: broker_config[of_brokers]
        for of_brokers, of_topics in TOPIC_DEFAULTS.items()
        if of_brokers in broker_config
    }
    times = (
        int(broker_config[name]) * unit_ms
        for name, unit_ms in RETENTION_TIMES.items()
        if name in broker_config
    )
    if (retention_ms := next(times, None)) is not None:
        found["retention.ms"] = str(max(retention_ms, FOR_EVER_MS))
    return found


SWEEP_OF_TRANSACTIONS = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
QUICKER = frozenset({"log.cleaner.backoff.ms", SWEEP_OF_TRANSACTIONS})
"""The broker settings that only make brokers delete or compact sooner. On brokers that are not
ours, a run does without them, and may show less."""
TOLD = frozenset({*TOPIC_DEFAULTS, *RETENTION_TIMES})
"""The broker settings that the history must contain."""


def check_standing(workload: Workload, standing: Mapping[str, str], target: str) -> list[str]:
    """Compare the broker settings that a workload needs with those of a running cluster, which must
    not be changed. Return a note for each difference that only makes the run show less. Raise
    TargetError for a difference with which the workload cannot run."""
    notes = []
    for key, wanted in workload.config.items():
        value = standing.get(key, "not set")
        if value == wanted:
            continue
        if key not in QUICKER:
            raise TargetError(
                f"workload {workload.name} needs brokers with {key}={wanted}, and on {target} it is"
                f" {value}; set it there, or choose another workload"
            )
        notes.append(f"{key} is {value} on {target}; with {wanted} the run would show more")
    return notes


def record_topics(
    recorder: Recorder,
    topics: Sequence[TopicSpec],
    broker_config: Mapping[str, str],
    began_ns: int,
    wall_ns: int,
    done_ns: int,
) -> None:
    """Record the creation of each topic with its settings, as an operation of RUNNER_PROCESS from
    began_ns to done_ns, and add the topic settings that follow from the brokers' to
    `recorder.topic_defaults`. wall_ns: the wall clock before the creation."""
    recorder.topic_defaults.update(topic_defaults(broker_config))
    for topic in topics:
        context = {"session": 0, "client": "raw", "timestamp_ms": wall_ns // 1_000_000}
        recorder.record(
            recorder.next_op_id(),
            RUNNER_PROCESS,
            CreateTopic(topic),
            Completion(Outcome.OK),
            began_ns,
            done_ns,
            context,
        )
