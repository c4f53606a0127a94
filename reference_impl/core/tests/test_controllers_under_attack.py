"""Controllers change while clients ask for topics and producer ids under a seeded hostile schedule.

In the end every node has all acknowledged records, no producer id was given twice, and every
controller knows exactly the committed records.
"""

from __future__ import annotations

from random import Random

import pytest

from reference_impl.core.rules import Rules
from reference_impl.core.tests.cluster import Cluster
from reference_impl.core.tests.test_controllers import (
    INIT,
    KeepDecisions,
    TellOfLostDecisions,
    create,
    isolate,
    names,
    take,
)
from reference_impl.wire import ApiKey, ErrorCode

STEPS, CALM_MS = 60, 70_000


class Attack:
    """Three nodes, their clients, and what may happen to them."""

    def __init__(self, seed: int, rules: type[Rules] = Rules) -> None:
        self.random = Random(seed)
        self.cluster = Cluster(seed=seed, voters=3, rules=rules)
        self.cluster.run(3_000)
        self.sent = dict.fromkeys(self.cluster.nodes, 0)
        self.taken: list[int] = []
        self.created: set[str] = set()

    def run(self) -> None:
        """Let things happen, then let all nodes live and talk, and everything come to an end."""
        for number in range(STEPS):
            self.ask(number)
            self.random.choice((self.isolate, self.heal, self.kill, self.boot, self.rest))()
            self.cluster.run(self.random.randint(20, 1_500))
            self.hear()
        self.heal()
        self.boot()
        self.cluster.run(CALM_MS)
        self.hear()
        for node in self.cluster.nodes:
            create(self.cluster, node, f"last-{node}")
            self.cluster.run(1_000)
            self.hear()
            self.taken += take(self.cluster, node)

    def ask(self, number: int) -> None:
        node = self.random.choice(list(self.cluster.disks))
        if node not in self.cluster.nodes or self.sent[node]:
            return  # a connection has one request at a time
        self.sent[node] = 1
        if self.random.random() < 0.5:
            create(self.cluster, node, f"t{number}")
        else:
            body = INIT.new(transactional_id=None, producer_id=-1, producer_epoch=-1)
            self.cluster.send(node, ApiKey.INIT_PRODUCER_ID, 5, body)

    def hear(self) -> None:
        for node, answers in self.cluster.answers.items():
            for body in answers:
                self.sent[node] = 0
                if hasattr(body, "topics"):
                    rows = [row for row in body.topics if row.error_code == ErrorCode.NONE]
                    self.created |= {row.name for row in rows}
                elif body.error_code == ErrorCode.NONE:
                    self.taken.append(body.producer_id)
            answers.clear()

    def isolate(self) -> None:
        self.heal()
        isolate(self.cluster, self.random.choice(list(self.cluster.disks)))

    def heal(self) -> None:
        self.cluster.silent.clear()

    def kill(self) -> None:
        if len(self.cluster.nodes) == len(self.cluster.disks):
            node = self.random.choice(list(self.cluster.nodes))
            self.cluster.kill(node, loses_power=self.random.random() < 0.5)
            self.sent[node] = 0

    def boot(self) -> None:
        for node in self.cluster.disks.keys() - self.cluster.nodes.keys():
            self.cluster.boot(node)

    def rest(self) -> None:
        """Let nothing happen but the passing of time."""

    def broken(self) -> str | None:
        """Return the promise that is broken."""
        brokers = {n: node.broker for n, node in self.cluster.nodes.items()}
        committed = names(brokers[1].image)
        if any(names(each.image) != committed for each in brokers.values()):
            return "the nodes do not know the same topics"
        if any(names(each.controller.image) != committed for each in brokers.values()):
            return "a controller knows other topics than those that are committed"
        if lost := self.created - set(committed.values()):
            return f"topics {lost} were acknowledged and are lost"
        if len(set(self.taken)) < len(self.taken):
            return "a producer id was given twice"
        return None


@pytest.mark.parametrize("seed", range(6))
def test_nothing_that_was_acknowledged_is_lost(seed: int) -> None:
    attack = Attack(seed)
    attack.run()
    assert attack.broken() is None
    assert len(attack.created) > 3
    assert len(attack.taken) > 2


@pytest.mark.parametrize("bug", [KeepDecisions, TellOfLostDecisions])
def test_the_schedules_find_a_controller_that_forgets_a_rule(bug: type[Rules]) -> None:
    for seed in range(20):
        attack = Attack(seed, bug)
        try:
            attack.run()
        except Exception:  # it may also trip over what it knows wrongly
            return
        if attack.broken() is not None:
            return
    pytest.fail("20 schedules have not found it")
