"""Test that a seed always draws the same settings, and that settings of the workload or scenario
override them."""

from __future__ import annotations

import time
from random import Random

from chaos.run.variety import Dresser, drawn, plain
from chaos.values.protocols import ClientSettings, Send, TopicSpec
from chaos.workloads import WORKLOADS

APPENDS = WORKLOADS["appends"]
SEEDS = range(200)


def test_a_seed_draws_the_same_again_and_seeds_differ() -> None:
    drawings = [drawn(seed, APPENDS, {}) for seed in SEEDS]
    assert drawings == [drawn(seed, APPENDS, {}) for seed in SEEDS]
    settings = {tuple(sorted({**one.topic, **one.brokers}.items())) for one in drawings}
    assert () in settings and len(settings) > 20


def test_what_is_said_goes_before_what_is_drawn() -> None:
    said = {"log.roll.ms": "500", "max.incremental.fetch.session.cache.slots": "7"}
    for seed in SEEDS:
        variety = drawn(seed, APPENDS, said)
        assert "segment.ms" not in variety.topic and not variety.brokers
        own = TopicSpec("t", 1, {"compression.type": "zstd", "index.interval.bytes": "9"})
        given = variety.of_topic(own).config
        assert given["compression.type"] == "zstd" and given["index.interval.bytes"] == "9"
        assert "message.timestamp.type" not in given


def test_clients_are_varied_by_their_process() -> None:
    variety = drawn(1, APPENDS, {})
    settings = [variety.of_client(process, ClientSettings()) for process in range(40)]
    assert {one.batches_of_one for one in settings} == {False, True}
    assert {one.fetch_bytes for one in settings} > {None, 1}
    assert plain(1).of_client(0, ClientSettings()) == ClientSettings()
    asked = ClientSettings(fetch_bytes=77, compression="gzip")
    kept = [variety.of_client(process, asked) for process in range(40)]
    assert {(one.fetch_bytes, one.compression) for one in kept} == {(77, "gzip")}


def test_a_send_is_dressed_and_keeps_what_it_says() -> None:
    dresser = Dresser(Random(1), dresses=True, sets_times=True, wall_ns=time.time_ns)
    dressed = dresser.dress(Send("t", 0, (1, 2)))
    assert isinstance(dressed, Send)
    assert len(dressed.filling) == len(dressed.timestamps) == 2
    own = Send("t", 0, (1,), filling=(5,), timestamps=(9,))
    assert dresser.dress(own) == own
    plain_send = Send("t", 0, (1,))
    assert (
        Dresser(Random(1), dresses=False, sets_times=False, wall_ns=time.time_ns).dress(plain_send)
        is plain_send
    )
