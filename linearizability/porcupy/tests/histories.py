"""Random small histories, and the dumbest possible judge of them."""

from __future__ import annotations

from itertools import permutations
from random import Random

from linearizability.porcupy import (
    OK,
    UNKNOWN,
    LogKind,
    Operations,
    OperationsBuilder,
    PythonModel,
    RegisterKind,
)


def explained(model: PythonModel, operations: Operations) -> bool:
    """Return, by brute force, whether some order of the operations fits both the model and real
    time.

    An operation of unknown outcome may be left out of the order.
    """
    ops, ends, calls = list(operations.rows()), operations.ends.tolist(), operations.call.tolist()
    certain = {i for i, op in enumerate(ops) if op.status != UNKNOWN}

    def respects_time(order: tuple[int, ...]) -> bool:
        return not any(
            ends[later] < calls[earlier]
            for place, earlier in enumerate(order)
            for later in order[place + 1 :]
        )

    def fits(order: tuple[int, ...]) -> bool:
        state = model.init
        for place, number in enumerate(order):
            state = model.step(state, ops[number])
            if state is None:
                return False
            # Stopping here leaves out the rest.
            if certain <= set(order[: place + 1]):
                return True
        return not certain

    return any(respects_time(o) and fits(o) for o in permutations(range(len(ops))))


def random_log(rng: Random, size: int, *, unknown: float, strong_reads: bool) -> Operations:
    """Return a history of a real log, which is then mostly broken somewhere."""
    builder, log, value = OperationsBuilder(), list[int](), 0
    for instant in range(size):
        at = instant * 10
        call, ret = at - rng.randrange(0, 30), at + rng.randrange(0, 30)
        if rng.random() < 0.2:
            # Wrong times: whether that matters is for the judges to say.
            shift = rng.randrange(-60, 60)
            call, ret = call + shift, ret + shift
        if rng.random() < 0.4:
            first = rng.randrange(0, len(log) + 1)
            end = rng.randrange(first, len(log) + 1)
            at_end = strong_reads and (end == len(log)) and rng.random() < 0.5
            status = UNKNOWN if rng.random() < unknown / 2 else OK
            vals = log[first:end]
            if vals and rng.random() < 0.05:
                vals[rng.randrange(len(vals))] = rng.randrange(1, value + 2)
            builder.add(
                call,
                ret,
                LogKind.READ,
                client=instant,
                a=first,
                b=int(at_end),
                status=status,
                vals=vals,
            )
            continue
        vals = [value + 1 + i for i in range(rng.choice((1, 1, 1, 2)))]
        value += len(vals)
        offset = len(log) if rng.random() < 0.95 else max(0, len(log) + rng.choice((-1, 1)))
        if rng.random() < unknown:
            if rng.random() < 0.6:
                log += vals
            builder.add(call, ret, LogKind.APPEND, client=instant, status=UNKNOWN, vals=vals)
        else:
            log += vals
            builder.add(call, ret, LogKind.APPEND, client=instant, c=offset, vals=vals)
    return builder.build()


def random_register(rng: Random, size: int, *, unknown: float) -> Operations:
    """Return writes, reads and swaps of few values, mostly with the results of a real register."""
    builder, value = OperationsBuilder(), 0
    for instant in range(size):
        at = instant * 10
        call, ret = at - rng.randrange(0, 25), at + rng.randrange(0, 25)
        status = UNKNOWN if rng.random() < unknown else OK
        happens = status == OK or rng.random() < 0.5
        kind = rng.choice((RegisterKind.WRITE, RegisterKind.READ, RegisterKind.COMPARE_AND_SWAP))
        a, b, c = rng.randrange(3), rng.randrange(3), 0
        if kind == RegisterKind.READ:
            c = value if rng.random() < 0.6 else rng.randrange(3)
        elif kind == RegisterKind.WRITE:
            value = a if happens else value
        else:
            c = int(a == value) if rng.random() < 0.7 else rng.randrange(2)
            value = b if happens and a == value else value
        builder.add(call, ret, kind, client=instant, a=a, b=b, c=c, status=status)
    return builder.build()


def side_by_side(histories: list[Operations]) -> Operations:
    """Join many histories to one, each under a key of its own: one process judges them all."""
    builder = OperationsBuilder()
    for key, history in enumerate(histories):
        times = zip(history.call.tolist(), history.ends.tolist(), history.rows(), strict=True)
        for client, (call, end, op) in enumerate(times):
            builder.add(
                call,
                end,
                op.kind,
                client=client,
                key=key,
                a=op.a,
                b=op.b,
                c=op.c,
                status=op.status,
                vals=op.vals,
            )
    return builder.build()
