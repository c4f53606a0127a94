"""Test that each operation reaches the cluster with the run's own names, and each row has the
workload's names."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

from chaos.means.real_world import run
from chaos.run.guests.own_names import NAMES, PLACES, OwnNames
from chaos.values import operations, protocols
from chaos.values.operations import (
    AskEnds,
    CommitInTransaction,
    CommitPosition,
    DeletePositions,
    FetchPositions,
    Membership,
    RawSend,
    Recreate,
)
from chaos.values.protocols import (
    Assign,
    ClientSettings,
    Completion,
    GroupProtocol,
    GroupSettings,
    Operation,
    Outcome,
    Poll,
    ReadAll,
    Record,
    Subscribe,
    TopicSpec,
)

NONCE = b"abcdefgh"
OWN = OwnNames(NONCE)
P = "touchstone-6162636465666768-"
MEMBER = Membership("m", 3)


@pytest.mark.parametrize(
    ("operation", "outside"),
    [
        (RawSend("t", 1, (5,)), RawSend(f"{P}t", 1, (5,))),
        (Assign((("t", 0), ("u", 1))), Assign(((f"{P}t", 0), (f"{P}u", 1)))),
        (Subscribe(("t", "u")), Subscribe((f"{P}t", f"{P}u"))),
        (ReadAll((("t", 0),), raw=True), ReadAll(((f"{P}t", 0),), raw=True)),
        (Recreate(TopicSpec("t", 3)), Recreate(TopicSpec(f"{P}t", 3))),
        (AskEnds("t", 2), AskEnds(f"{P}t", 2)),
        (CommitPosition("g", "t", 1, 7), CommitPosition(f"{P}g", f"{P}t", 1, 7)),
        (FetchPositions("g", "t", (0, 1)), FetchPositions(f"{P}g", f"{P}t", (0, 1))),
        (
            FetchPositions("g", "t", (0,), beside=("u",)),
            FetchPositions(f"{P}g", f"{P}t", (0,), beside=(f"{P}u",)),
        ),
        (
            CommitPosition("g", "t", 1, 7, beside=(("u", 0, 8),)),
            CommitPosition(f"{P}g", f"{P}t", 1, 7, beside=((f"{P}u", 0, 8),)),
        ),
        (DeletePositions("g", (("t", 0),)), DeletePositions(f"{P}g", ((f"{P}t", 0),))),
        (
            CommitInTransaction("g", "t", 0, 1, MEMBER, "x"),
            CommitInTransaction(f"{P}g", f"{P}t", 0, 1, MEMBER, f"{P}x"),
        ),
        (Poll(), Poll()),
    ],
)
def test_an_operation_goes_out_under_names_of_its_own(
    operation: Operation, outside: Operation
) -> None:
    assert OWN.operation(operation) == outside


def test_no_operation_has_a_field_of_names_that_goes_out_as_it_is() -> None:
    """A new operation with a field of another name must be looked at here."""
    known = {"topic", *PLACES, *NAMES}
    harmless = {"member", "values", "keys", "isolation", "offsets"}
    for module in (protocols, operations):
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if not issubclass(kind, Operation) or kind is Operation:
                continue
            texts = {each.name for each in fields(kind) if "str" in str(each.type)}
            assert texts <= known | harmless, kind


def test_settings_and_completions_are_translated() -> None:
    seen: list[ClientSettings] = []

    class Fake:
        name = "fake"

        async def perform(self, operation: Operation) -> Completion:
            return Completion(
                Outcome.OK,
                [Record(f"{P}t", 0, 1, 5), Record("theirs", 0, 2, 6)],
                more_rows=[{"f": "owned", "topic": f"{P}t", "group": f"{P}g", "partition": 0}],
                columns={"group": f"{P}g", "txn": 3},
            )

        async def close(self) -> None: ...

    def make(bootstrap: str, process: int, settings: ClientSettings) -> Fake:
        seen.append(settings)
        return Fake()

    group = GroupSettings("g", GroupProtocol.CLASSIC, "range", False)
    settings = ClientSettings(transactional=True, transactional_id="x", group=group)
    completion = run(OWN.clients(make)("a:1", 0, settings).perform(Poll()))
    assert [record.topic for record in completion.records] == ["t", "theirs"]
    assert completion.more_rows == [{"f": "owned", "topic": "t", "group": "g", "partition": 0}]
    assert completion.columns == {"group": "g", "txn": 3}
    assert seen[0].group is not None
    assert (seen[0].group.name, seen[0].transactional_id) == (f"{P}g", f"{P}x")
