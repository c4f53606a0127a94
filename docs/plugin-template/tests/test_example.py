"""The tests of the plugins, by the fixtures that Touchstone brings to every project."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from touchstone.kit import Cluster, Heal, Kill, Wire, batch, eventually

HERE = Path(__file__).parent


def test_a_record_survives_the_death_of_its_broker(wire: Wire, kafka_target: Cluster) -> None:
    topic = wire.create_topic()
    assert wire.produce(topic, batch(b"a").encode(), 9, acks=-1).error_code == 0
    kafka_target.perform(Kill(1))
    assert not kafka_target.alive()
    kafka_target.perform(Heal())
    eventually(kafka_target.alive, bool, "an answer of the broker")
    wire.forget_connections()
    assert wire.values(topic) == [b"a"]


def test_nothing_is_lost_while_it_dies_twice(
    chaos_run: Callable[..., Path], judged: Callable[..., Any]
) -> None:
    verdict = judged(chaos_run("few-appends", "kill-twice", seconds=4))
    assert verdict.validity == "valid", verdict.reason
    assert "timestamps_rise" in verdict.checkers


def test_the_target_is_attacked_by_its_name(
    chaos_run: Callable[..., Path], judged: Callable[..., Any]
) -> None:
    run = chaos_run("few-appends", target="three-partitions", seconds=2)
    assert judged(run).validity == "valid"


def test_a_history_in_our_own_form_is_judged(judged: Callable[..., Any]) -> None:
    verdict = judged(HERE / "lost.csv")
    assert verdict.validity == "invalid"
    assert verdict.checkers["lost_writes"].anomaly_count == 1
