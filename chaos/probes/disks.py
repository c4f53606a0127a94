"""Probe disk faults, on nodes that have their own disks."""

from __future__ import annotations

import threading

from chaos.probes.asking import append, log_end, make_topic, refusal
from chaos.probes.frame import PATIENCE_S, QUIET_S, ProbeFailed, Site
from chaos.targets.clusters import equipment
from chaos.values.faults import DiskFull, DiskStall, PowerLoss

TOPIC = "probe"


def a_write_hangs(site: Site) -> str:
    """Prove that a write to a frozen disk gets no response until the thaw, and then gets one.
    Return what was seen."""
    answered = threading.Event()
    make_topic(site.cluster.direct(1), TOPIC)

    def write() -> None:
        append(site.cluster.direct(1), TOPIC, PATIENCE_S)
        answered.set()

    with site.struck(DiskStall(1)):
        threading.Thread(target=write, daemon=True).start()
        if answered.wait(QUIET_S):
            raise ProbeFailed("a write was answered although the disk is frozen")
    site.expect(answered.is_set, "the write is answered after the thaw")
    return "a write hung, and was answered after the thaw"


def there_is_no_room(site: Site) -> str:
    """Prove that writes are refused until there is room; the node may stop, and is then restarted.
    Return what was seen."""
    make_topic(site.cluster.direct(1), TOPIC)
    with site.struck(DiskFull(1)):
        said = refusal(site, TOPIC, "a write is refused for want of room")
    return f"a write was refused: {said}"


def what_was_not_synced_is_gone(site: Site) -> str:
    """Prove that records that were acknowledged but not flushed are lost with the power. Return
    what was seen."""
    address = site.cluster.direct(1)
    make_topic(address, TOPIC)
    equipment.sync(site.cluster.members())
    before = log_end(address, TOPIC)
    acknowledged = append(address, TOPIC, PATIENCE_S) + 1
    with site.struck(PowerLoss(1)):
        pass
    left = log_end(address, TOPIC)
    if not before <= left < acknowledged:
        raise ProbeFailed(
            f"the log ended at offset {before}, then {acknowledged}, and after the loss {left}"
        )
    return f"the log ended at offset {acknowledged}, and after the loss of power at {left}"
