"""Test that a run's history records its topics: their settings, and those that brokers add."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.record.recorder import HistoryRecorder
from chaos.run.first_phase import record_topics, topic_defaults
from chaos.values.operations import Recreate
from chaos.values.protocols import Completion, Outcome, ReadAll, Record, Send, TopicSpec
from linearizability import history
from linearizability.judging import check

OK = Completion(Outcome.OK)
SENT = {"acks": -1, "idempotent": True}
MINUTE_NS = 60_000_000_000
WHOLE = {"f": "read_all", "log_start": 1, "high_watermark": 1}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, {}),
        ({"log.retention.ms": "5000"}, {"retention.ms": "5000"}),
        ({"log.retention.minutes": "2", "log.retention.hours": "9"}, {"retention.ms": "120000"}),
        ({"log.retention.hours": "1"}, {"retention.ms": "3600000"}),
        ({"log.retention.hours": "-1"}, {"retention.ms": "-1"}),
        ({"log.retention.minutes": "1", "log.retention.ms": "7"}, {"retention.ms": "7"}),
        ({"log.cleanup.policy": "compact,delete"}, {"cleanup.policy": "compact,delete"}),
        ({"log.retention.bytes": "10"}, {"retention.bytes": "10"}),
        ({"log.cleaner.delete.retention.ms": "1"}, {"delete.retention.ms": "1"}),
        ({"unclean.leader.election.enable": "true"}, {"unclean.leader.election.enable": "true"}),
        ({"num.partitions": "3", "log.cleaner.backoff.ms": "5"}, {}),
    ],
)
def test_what_brokers_say_of_topics_is_told_in_topics_names(
    given: dict[str, str], told: dict[str, str]
) -> None:
    assert topic_defaults(given) == told


def test_topics_are_recorded_with_what_brokers_say_where_they_say_nothing(tmp_path: Path) -> None:
    recorder = HistoryRecorder(tmp_path, "run")
    of_brokers = {"log.retention.ms": "5000", "log.cleanup.policy": "compact"}
    spec = TopicSpec("t", 1, {"cleanup.policy": "delete"})
    record_topics(recorder, [spec], of_brokers, 0, 0, 1)
    recorder.record(recorder.next_op_id(), 3, Recreate(spec), OK, 2, 3, {})
    rows = history.scan(recorder.close()).collect()
    settings = '{"cleanup.policy": "delete", "retention.ms": "5000"}'
    assert rows["settings"].to_list() == [settings, settings]


def test_records_that_brokers_may_delete_are_not_lost(tmp_path: Path) -> None:
    """One is acknowledged at offset 0, and the log begins behind it a minute later."""
    for given, validity in (({"log.retention.ms": "5000"}, "valid"), ({}, "invalid")):
        recorder = HistoryRecorder(tmp_path / validity, "run")
        record_topics(recorder, [TopicSpec("t", 1, {})], given, 0, 0, 1)
        sent = Completion(Outcome.OK, (Record("t", 0, 1, 0),))
        end = Record("t", 0, None, None, extra=WHOLE)
        read = Completion(Outcome.OK, (end,))
        recorder.record(recorder.next_op_id(), 1, Send("t", 0, (1,)), sent, 2, 3, SENT)
        reading = ReadAll((("t", 0),), raw=True)
        recorder.record(recorder.next_op_id(), 2, reading, read, MINUTE_NS, MINUTE_NS + 1, {})
        verdict = check(recorder.close(), engine="local")
        assert verdict.checkers["retention"].validity == validity
        assert verdict.checkers["retention"].checked == 1
