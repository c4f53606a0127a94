"""The models of coordinators: known answers, and every judge against brute force."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from linearizability.porcupy import (
    OK,
    UNKNOWN,
    Op,
    Operations,
    OperationsBuilder,
    PythonModel,
    check,
)
from linearizability.porcupy.coordinator_models import (
    ACCEPTED,
    BAD_STATE,
    COMMITTED_OFFSET,
    COORDINATOR_MODELS,
    FENCED,
    LEADER_EPOCH,
    TRANSACTION,
    EpochKind,
    OffsetKind,
    TransactionKind,
)
from linearizability.porcupy.tests.histories import explained, side_by_side
from linearizability.verdict import Validity

BY_NAME = {model.name: model for model in COORDINATOR_MODELS}
T, G, E = TransactionKind, OffsetKind, EpochKind
KINDS = {"transaction": 4, "committed_offset": 3, "leader_epoch": 3}
Step = tuple[int, int, int, int]
"""kind, a, b, c: one after the other in time."""
VALID: list[tuple[PythonModel, list[Step]]] = [
    (TRANSACTION, [(T.INIT, 0, 0, 0), (T.SEND, 0, 0, ACCEPTED), (T.COMMIT, 0, 0, ACCEPTED)]),
    (TRANSACTION, [(T.INIT, 0, 0, 0), (T.INIT, 0, 0, 1), (T.SEND, 0, 0, FENCED)]),
    (TRANSACTION, [(T.INIT, 0, 0, 0), (T.COMMIT, 0, 0, BAD_STATE)]),
    (COMMITTED_OFFSET, [(G.GENERATION, 0, 0, 1), (G.COMMIT, 5, 1, ACCEPTED), (G.FETCH, 0, 0, 5)]),
    (COMMITTED_OFFSET, [(G.FETCH, 0, 0, -1)]),
    (LEADER_EPOCH, [(E.ELECT, 2, 0, 1), (E.READ, 2, 0, 1), (E.CHECK, 0, 0, FENCED)]),
]
INVALID: list[tuple[PythonModel, list[Step]]] = [
    (TRANSACTION, [(T.INIT, 0, 0, 0), (T.INIT, 0, 0, 1), (T.SEND, 0, 0, ACCEPTED)]),
    (TRANSACTION, [(T.INIT, 0, 0, 1), (T.INIT, 0, 0, 1)]),
    (
        TRANSACTION,
        [
            (T.INIT, 0, 0, 0),
            (T.SEND, 0, 0, ACCEPTED),
            (T.ABORT, 0, 0, ACCEPTED),
            (T.COMMIT, 0, 0, ACCEPTED),
        ],
    ),
    (
        COMMITTED_OFFSET,
        [(G.GENERATION, 0, 0, 1), (G.GENERATION, 0, 0, 2), (G.COMMIT, 5, 1, ACCEPTED)],
    ),
    (COMMITTED_OFFSET, [(G.COMMIT, 5, 0, ACCEPTED), (G.FETCH, 0, 0, 4)]),
    (LEADER_EPOCH, [(E.ELECT, 2, 0, 1), (E.ELECT, 1, 0, 1)]),
    (LEADER_EPOCH, [(E.ELECT, 2, 0, 1), (E.READ, 1, 0, 1)]),
]


def in_sequence(steps: list[Step]) -> Operations:
    builder = OperationsBuilder()
    for n, (kind, a, b, c) in enumerate(steps):
        builder.add(10 * n, 10 * n + 5, kind, a=a, b=b, c=c)
    return builder.build()


@pytest.mark.parametrize(
    ("model", "steps", "expected"),
    [(*case, Validity.VALID) for case in VALID] + [(*case, Validity.INVALID) for case in INVALID],
)
def test_known_answers(model: PythonModel, steps: list[Step], expected: Validity) -> None:
    assert check(model, in_sequence(steps)).verdict is expected


@pytest.mark.needs("porcupine")
@pytest.mark.parametrize(
    ("model", "steps", "expected"),
    [(*case, Validity.VALID) for case in VALID] + [(*case, Validity.INVALID) for case in INVALID],
)
def test_known_answers_of_porcupine(
    model: PythonModel, steps: list[Step], expected: Validity
) -> None:
    assert check(model.name, in_sequence(steps)).verdict is expected


def random_history(model: PythonModel, rng: Random, size: int) -> Operations:
    """Return mostly what the model itself would answer, in times that overlap."""
    builder, state = OperationsBuilder(), model.init
    for instant in range(size):
        at = 10 * instant
        call, ret = at - rng.randrange(25), at + rng.randrange(25)
        kind, a, b = rng.randrange(KINDS[model.name]), rng.randrange(3), rng.randrange(2)
        status = UNKNOWN if rng.random() < 0.2 else OK
        c, following = rng.randrange(-1, 4), None
        if rng.random() < 0.9:
            for right in rng.sample(range(-1, 4), 5):
                following = model.step(state, Op(kind, a, b, right, OK, ()))
                if following is not None:
                    c = right
                    break
        if following is not None and (status == OK or rng.random() < 0.5):
            state = following
        builder.add(call, ret, kind, client=instant, a=a, b=b, c=c, status=status)
    return builder.build()


def histories(model: PythonModel, count: int, largest: int) -> list[Operations]:
    rng = Random(f"{model.name} {largest}")
    return [random_history(model, rng, rng.randrange(1, largest + 1)) for _ in range(count)]


def verdicts(model: str | PythonModel, some: list[Operations]) -> list[Validity]:
    result = check(model, side_by_side(some))
    assert len(result.partitions) == len(some), result.reason
    return [partition.verdict for partition in result.partitions]


@pytest.mark.parametrize("name", BY_NAME)
def test_the_kernel_agrees_with_brute_force(name: str) -> None:
    model = BY_NAME[name]
    some = histories(model, 600, 6)
    expected = [Validity.VALID if explained(model, h) else Validity.INVALID for h in some]
    counted = Counter(expected)
    assert min(counted[Validity.VALID], counted[Validity.INVALID]) > 60, counted
    assert verdicts(model, some) == expected


@pytest.mark.needs("porcupine")
@pytest.mark.parametrize(("name", "largest"), [(name, n) for name in BY_NAME for n in (6, 20)])
def test_porcupine_agrees_with_the_kernel(name: str, largest: int) -> None:
    some = histories(BY_NAME[name], 600, largest)
    assert verdicts(name, some) == verdicts(BY_NAME[name], some)
