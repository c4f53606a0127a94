"""A node asks whichever controller is active, until it has an answer or no time is left."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.asking_controller import ask_controller
from reference_impl.core.tests.cluster import Cluster
from reference_impl.wire import ApiKey, ErrorCode, request_definition, response_definition

TIMEOUT_MS = 1_000
QUESTION = request_definition(ApiKey.DESCRIBE_CLUSTER).new()


class Election:
    """Nodes of which one is the active controller, while others may be taken for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.active, self.believed = 2, 2
        self.outcomes: list[tuple[int, str]] = []
        monkeypatch.setattr(Broker, "controller_id", property(lambda _: self.believed))
        self.cluster = Cluster({ApiKey.DESCRIBE_CLUSTER: self.answer})

    def answer(self, broker: Broker, request: Request) -> Iterator[Effect]:
        is_active = broker.node_id == self.active
        code = ErrorCode.NONE if is_active else ErrorCode.NOT_CONTROLLER
        of = response_definition(ApiKey.DESCRIBE_CLUSTER)
        yield Respond(request, of.new(error_code=code, controller_id=broker.node_id))

    def ask(self) -> None:
        broker = self.cluster.nodes[1].broker

        def work() -> Iterator[Effect]:
            try:
                answer = yield from ask_controller(
                    broker, ApiKey.DESCRIBE_CLUSTER, QUESTION, TIMEOUT_MS
                )
                self.outcomes.append((broker.monotonic_ms, f"node {answer.controller_id}"))
            except Refused as refused:
                self.outcomes.append((broker.monotonic_ms, str(refused)))

        broker.outbox.post("ask", work())
        self.cluster.send(1, ApiKey.API_VERSIONS, 4, request_definition(ApiKey.API_VERSIONS).new())


@pytest.fixture
def election(monkeypatch: pytest.MonkeyPatch) -> Election:
    return Election(monkeypatch)


@pytest.mark.parametrize("node", [1, 3])
def test_the_active_controller_answers_also_where_it_is_this_node(
    election: Election, node: int
) -> None:
    election.active = election.believed = node
    election.ask()
    election.cluster.run(TIMEOUT_MS)
    assert [said for _, said in election.outcomes] == [f"node {node}"]


def test_who_is_told_not_controller_asks_the_next_one(election: Election) -> None:
    election.active = 3
    election.ask()
    election.cluster.run(200)
    assert election.outcomes == []
    election.believed = 3
    election.cluster.run(100)
    assert [said for _, said in election.outcomes] == ["node 3"]


def test_a_controller_that_is_lost_is_asked_again(election: Election) -> None:
    election.cluster.refusing.add(2)
    election.ask()
    election.cluster.run(200)
    election.cluster.refusing.clear()
    election.cluster.run(TIMEOUT_MS)
    assert [said for _, said in election.outcomes] == ["node 2"]


@pytest.mark.parametrize("believed", [None, 3])
def test_without_an_active_controller_the_question_ends_in_time(
    election: Election, believed: int | None
) -> None:
    election.believed = believed  # type: ignore[assignment]
    election.ask()
    election.cluster.run(10 * TIMEOUT_MS)
    ((at_ms, said),) = election.outcomes
    assert said.startswith("REQUEST_TIMED_OUT: no active controller answered within 1000 ms: ")
    assert at_ms == TIMEOUT_MS


def test_a_silent_controller_costs_no_more_than_the_time(election: Election) -> None:
    election.cluster.silent.add((2, 1))
    election.ask()
    election.cluster.run(10 * TIMEOUT_MS)
    assert [at_ms for at_ms, _ in election.outcomes] == [TIMEOUT_MS]
