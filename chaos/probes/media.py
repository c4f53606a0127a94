"""Probe faults of storage media, and of writes that a crash interrupts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from chaos.means.connection import WireError
from chaos.probes.asking import append, log_end, make_topic
from chaos.probes.frame import PATIENCE_S, ProbeFailed, Site
from chaos.targets.clusters import equipment
from chaos.targets.faults.segments import segments
from chaos.values.faults import (
    BitFlip,
    DiskDead,
    DiskReadOnly,
    FailedSync,
    FailedWrite,
    Fault,
    LostNames,
    SlowDisk,
    TornWrites,
)

TOPIC = "probe-media"
DELAY_MS = 300


def writes_fail_with_a_dead_disk(site: Site) -> str:
    """Prove that a write is refused with a dead disk, that the log is as before after the heal, and
    that a write is then accepted. Return what was seen."""
    return _writes_fail(site, DiskDead(1))


def writes_fail_with_a_read_only_disk(site: Site) -> str:
    """Prove that a write is refused with a read-only disk, that the log is as before after the
    heal, and that a write is then accepted. Return what was seen."""
    return _writes_fail(site, DiskReadOnly(1))


def _writes_fail(site: Site, fault: Fault) -> str:
    address = site.cluster.direct(1)
    make_topic(address, TOPIC)
    end = append(address, TOPIC, PATIENCE_S) + 1
    with site.struck(fault):
        try:
            append(address, TOPIC, PATIENCE_S)
        except WireError as error:
            refused = str(error)
        else:
            raise ProbeFailed("a write was acknowledged although the disk takes none")
    left = log_end(address, TOPIC)
    if left != end:
        raise ProbeFailed(f"the log ended at offset {end} before the fault, and at {left} after it")
    append(address, TOPIC, PATIENCE_S)
    return f"a write was refused: {refused}"


def a_sync_takes_longer(site: Site) -> str:
    """Prove that creating a topic takes DELAY_MS or more, since it is acknowledged only after the
    metadata log was synced, and is faster after the heal. Return what was seen."""
    address, name = site.cluster.direct(1), f"slow-{time.monotonic_ns()}"
    with site.struck(SlowDisk(1, DELAY_MS)):
        slow_ms = _making_a_topic_ms(site, name)
        if slow_ms < DELAY_MS:
            raise ProbeFailed(f"creating a topic took {slow_ms:.0f} ms, not {DELAY_MS} or more")
    site.expect(lambda: _making_a_topic_ms(site, f"fast-{time.monotonic_ns()}") < slow_ms, "speed")
    append(address, name, PATIENCE_S)
    return f"creating a topic, which needs a sync, took {slow_ms:.0f} ms"


def _making_a_topic_ms(site: Site, name: str) -> float:
    began = time.perf_counter()
    make_topic(site.cluster.direct(1), name)
    return (time.perf_counter() - began) * 1000


def a_failed_sync_leaves_its_bytes_behind(site: Site) -> str:
    """Prove that a failed sync loses data: create topics until one sync fails, then cut the power.
    Return what was seen."""
    (member,) = site.cluster.members()
    assert member.shim is not None
    medium = member.shim.medium
    with _somebody_syncs(site), site.struck(FailedSync(1)):
        if not medium.has_failed():
            raise ProbeFailed("no sync of a segment has failed")
    if medium.has_failed():
        raise ProbeFailed("the data of the failed sync survived the loss of power")
    name = f"after-{time.monotonic_ns()}"
    make_topic(site.cluster.direct(1), name)
    append(site.cluster.direct(1), name, PATIENCE_S)
    return "a sync failed, and its bytes were lost with the power"


def a_write_fails_once(site: Site) -> str:
    """Prove that at least one append is refused during the fault, and that one succeeds after the
    heal. Return what was seen."""
    address, refused, done = site.cluster.direct(1), list[str](), threading.Event()
    make_topic(address, TOPIC)

    def append_for_ever() -> None:
        while not done.is_set():
            try:
                append(address, TOPIC, PATIENCE_S)
            except WireError as error:
                refused.append(str(error))

    writer = threading.Thread(target=append_for_ever, daemon=True)
    writer.start()
    try:
        with site.struck(FailedWrite(1)):
            site.expect(lambda: bool(refused), "an append is refused")
    finally:
        done.set()
        writer.join()
    append(address, TOPIC, PATIENCE_S)
    return f"a write failed once: {refused[0]}"


def some_of_what_was_not_synced_is_gone(site: Site) -> str:
    """Prove that acknowledged records are lost if the largest unsynced tail of a file is lost.
    Return what was seen."""
    return _is_gone(site, TornWrites(1, "reordered"), _somebody_syncs)


def what_has_no_name_is_gone(site: Site) -> str:
    """Prove that a topic's directory whose entry was not synced is gone with its content. Return
    what was seen."""
    return _is_gone(site, LostNames(1))


@contextmanager
def _somebody_syncs(site: Site) -> Iterator[None]:
    """Create topics in the background during the `with` block, since each one makes the node sync
    its metadata log."""
    done = threading.Event()

    def make_topics() -> None:
        with suppress(WireError):  # until the node is struck
            while not done.is_set():
                make_topic(site.cluster.direct(1), f"synced-{time.monotonic_ns()}")

    maker = threading.Thread(target=make_topics, daemon=True)
    maker.start()
    try:
        yield
    finally:
        done.set()
        maker.join()


def _is_gone(
    site: Site,
    fault: Fault,
    meanwhile: Callable[[Site], AbstractContextManager[None]] = lambda site: nullcontext(),
) -> str:
    address = site.cluster.direct(1)
    make_topic(address, TOPIC)
    equipment.sync(site.cluster.members())
    name = f"{TOPIC}-{time.monotonic_ns()}"
    make_topic(address, name)
    acknowledged = [append(address, name, PATIENCE_S) for _ in range(20)][-1] + 1
    with meanwhile(site), site.struck(fault):
        pass
    left = log_end(address, name)
    if left >= acknowledged:
        raise ProbeFailed(
            f"the loss of power took no record away: the log ended at offset {acknowledged} before"
            f" it, and at {left} after it"
        )
    return f"the log ended at offset {acknowledged}, and after the loss of power at {left}"


def one_bit_is_another(site: Site) -> str:
    """Prove that exactly one bit of the node's segments changes while the node is down. Return what
    was seen."""
    address = site.cluster.direct(1)
    make_topic(address, TOPIC)
    append(address, TOPIC, PATIENCE_S)
    data = site.cluster.members()[0].data
    assert data is not None
    before = _contents(data)
    with site.struck(BitFlip(1)):
        bits = sum(
            (one ^ other).bit_count()
            for path, content in _contents(data).items()
            for one, other in zip(content, before[path], strict=True)
        )
        if bits != 1:
            raise ProbeFailed(f"{bits} bits were flipped, not one")
    return "one bit of an active segment was flipped"


def _contents(data: Path) -> dict[Path, bytes]:
    found = {}
    for path in (*segments(data, closed=False), *segments(data, closed=True)):
        with suppress(FileNotFoundError):
            found[path] = path.read_bytes()
    return found
