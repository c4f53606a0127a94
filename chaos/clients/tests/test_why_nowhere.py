"""A run that got nowhere keeps the log of its clients, and the answer to a raw Produce."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from chaos.clients import payload
from chaos.clients.confluent.config import producer_config
from chaos.clients.confluent.log import kept_log
from chaos.clients.wire.admin import Admin
from chaos.means.real_world import REAL_WORLD, run
from chaos.targets import parse_target
from chaos.values.protocols import ClientSettings, TopicSpec

NOBODY = "127.0.0.1:1"
NONCE = payload.nonce_of("test")


def test_the_log_of_librdkafka_is_kept_and_counted_and_not_printed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    producer = Producer(producer_config(NOBODY, ClientSettings(delivery_timeout_ms=1_500)))
    producer.produce("t", b"x")
    producer.flush(3)
    lines = dict(kept_log(NOBODY).most_frequent(5))
    assert any("Connection refused" in line and "thrd" not in line for line in lines), lines
    assert capfd.readouterr().err == ""


def test_a_raw_produce_tells_what_a_broker_answers_or_that_it_does_not(tmp_path: Path) -> None:
    cluster = parse_target("reference").start(tmp_path, 1)
    admin = Admin(REAL_WORLD, cluster.bootstrap)
    try:
        specs = [TopicSpec("ok", 1), TopicSpec("tiny", 1, config={"max.message.bytes": "10"})]
        run(admin.create_topics(specs, 1, 20))
        assert run(admin.answer_to_produce("ok", NONCE)).endswith("was acknowledged at offset 0")
        assert "was answered MESSAGE_TOO_LARGE" in run(admin.answer_to_produce("tiny", NONCE))
        assert "got no answer: none-0 has no leader" in run(admin.answer_to_produce("none", NONCE))
    finally:
        admin.close()
        cluster.stop()
