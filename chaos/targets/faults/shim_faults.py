"""Faults of nodes that are preloaded (means/shim): clocks, slow syncs, torn writes, lost names; and
the bit that flips while a node is down, which needs nothing.

A torn write ends a node that waits for a sync. So syncs are held first: then nothing that is
written but not synced was acknowledged, if the node flushes before it acknowledges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from chaos.means.shim import Shim, why_none
from chaos.targets.faults.process_faults import kill_and_wait, stand_still
from chaos.targets.faults.segments import flip_one, segments
from chaos.values.faults import (
    BitFlip,
    ClockJump,
    ClockSkew,
    FailedSync,
    FailedWrite,
    Fault,
    LostNames,
    SlowDisk,
    TornWrites,
)
from chaos.values.protocols import TargetError
from reference_impl.wire.batch_header import HEADER_BYTES

if TYPE_CHECKING:
    from chaos.targets.clusters.cluster import LocalNode

Members = Sequence["LocalNode"]
HOLDS_MAX = 10


def preload(members: Members, directory: Path) -> None:
    """Preload nodes before their first start. Their data are in `directory`/data/NUMBER. Raise
    TargetError."""
    if reason := why_none():
        raise TargetError(reason)
    for member in members:
        number = str(member.number)
        member.shim = Shim(directory / "shim" / number, directory / "data" / number)


def heal(members: Members) -> None:
    """Set clocks right, let syncs be as fast as the disk is, and cut the power of a node whose sync
    has failed."""
    for member, shim in _shims(members):
        shim.heal()
        if shim.medium.has_failed():
            _stop_and_kill([member])
            shim.medium.lose_power()


def close(members: Members) -> None:
    """Close the shims of nodes that have ended."""
    for member, shim in _shims(members):
        shim.close()
        member.shim = None


def _tear(members: Members, fault: TornWrites, rng: Random) -> list[int]:
    struck = [(member, shim) for member, shim in _shims(members) if member.running]
    for _, shim in struck:
        _await_unsynced_batch(shim)
    _stop_and_kill([member for member, _ in struck])
    for _, shim in struck:
        shim.release_syncs()
        shim.medium.tear(fault.how, rng)
    return [member.number for member, _ in struck]


def _await_unsynced_batch(shim: Shim) -> None:
    """Hold the node's syncs at a moment when a batch waits for one, not the end of an index; or at
    any moment, if none comes."""
    for _ in range(HOLDS_MAX):
        if not shim.hold_syncs():
            return
        if any(tail.size - tail.synced >= HEADER_BYTES for tail in shim.medium.tails()):
            return
        shim.let_syncs_go()
    shim.hold_syncs()


def _lose_names(members: Members, fault: LostNames, rng: Random) -> list[int]:
    struck = _shims(members)
    _stop_and_kill([member for member, _ in struck])
    for _, shim in struck:
        shim.medium.lose_names()
    return [member.number for member, _ in struck]


def _stop_and_kill(members: Members) -> None:
    """Settle what the ledgers say when the last node stands still, then kill the nodes."""
    stand_still(members)
    kill_and_wait(members)


def _flip_bit(members: Members, fault: BitFlip, rng: Random) -> list[int]:
    struck = []
    for member in members:
        if member.data is None or not member.running:
            continue
        found = segments(member.data, closed=fault.segment == "closed")
        if found:
            kill_and_wait([member])
            flip_one(rng.choice(found), rng)
            struck.append(member.number)
    return struck


def _jump(members: Members, fault: ClockJump, rng: Random) -> list[int]:
    return _each(members, lambda shim: shim.jump(fault.by_ms))


def _skew(members: Members, fault: ClockSkew, rng: Random) -> list[int]:
    return _each(members, lambda shim: shim.skew(fault.ppm))


def _slow_down(members: Members, fault: SlowDisk, rng: Random) -> list[int]:
    return _each(members, lambda shim: shim.slow_down(fault.delay_ms))


def _fail_sync(members: Members, fault: FailedSync, rng: Random) -> list[int]:
    return [m.number for m, shim in _shims(members) if m.running and shim.fail_sync(fault.number)]


def _fail_write(members: Members, fault: FailedWrite, rng: Random) -> list[int]:
    return [
        member.number
        for member, shim in _shims(members)
        if member.running and shim.fail_write(fault.number, only_indexes=fault.only_indexes)
    ]


def _each(members: Members, strike: Callable[[Shim], None]) -> list[int]:
    for _, shim in _shims(members):
        strike(shim)
    return [member.number for member in members if member.running]


def _shims(members: Members) -> list[tuple[LocalNode, Shim]]:
    return [(member, member.shim) for member in members if member.shim is not None]


PERFORMERS: Mapping[type[Fault], Callable[[Members, Any, Random], list[int]]] = {
    TornWrites: _tear,
    LostNames: _lose_names,
    BitFlip: _flip_bit,
    ClockJump: _jump,
    ClockSkew: _skew,
    SlowDisk: _slow_down,
    FailedSync: _fail_sync,
    FailedWrite: _fail_write,
}
"""Fault -> what does it to these nodes, and says which nodes it struck."""
