"""Probe an administrator's faults: elections, moved replicas, created and deleted topics."""

from __future__ import annotations

import threading

from chaos.probes.asking import make_topic, partition, topics
from chaos.probes.frame import ProbeFailed, Site
from chaos.values.faults import AdminStorm, Elect, Heal, MoveReplicas, Shutdown

TOPIC = "administered"
STORM_TOPICS = 20


def the_preferred_replica_leads_again(site: Site) -> str:
    """Prove that the preferred replica leads again after it was down and another led. Return what
    was seen."""
    preferred = _replicated_topic(site)[0]
    site.cluster.perform(Shutdown(preferred))
    site.expect(lambda: _leader(site) not in (preferred, -1), "another replica leads")
    other = _leader(site)
    site.cluster.perform(Heal())
    everybody = set(range(1, site.cluster.nodes + 1))
    site.expect(lambda: set(partition(_address(site), TOPIC).isr) == everybody, "all are in sync")
    with site.struck(Elect("preferred")):
        site.expect(lambda: _leader(site) == preferred, "the preferred replica leads")
    return f"node {other} led before the election, and node {preferred} after it"


def a_replica_leaves_and_comes_back(site: Site) -> str:
    """Prove that the first replica is removed, and is the last one when it is added again. Return
    what was seen."""
    first = _replicated_topic(site)
    seen = [first]
    for wanted in (first[1:], [*first[1:], first[0]]):
        with site.struck(MoveReplicas()):
            expect_replicas(site, wanted)
        seen.append(wanted)
    return f"the replicas were {', then '.join(map(str, seen))}"


def expect_replicas(site: Site, wanted: list[int]) -> None:
    """Wait until the topic has these replicas, in this order. Raise ProbeFailed if that takes too
    long."""
    site.expect(
        lambda: list(partition(_address(site), TOPIC).replicas) == wanted,
        f"the replicas are {wanted}",
    )


def topics_come_and_go(site: Site) -> str:
    """Prove that an observer sees some of the topics, and that none is left at the end. Return what
    was seen."""
    seen: set[str] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.update(name for name in topics(_address(site)) if name.startswith("storm-"))

    looker = threading.Thread(target=look, daemon=True)
    looker.start()
    try:
        with site.struck(AdminStorm(STORM_TOPICS)):
            pass
    finally:
        done.set()
        looker.join()
    if not seen:
        raise ProbeFailed("no observer saw a topic appear")
    site.expect(lambda: not seen & set(topics(_address(site))), "all of them are deleted")
    return f"{len(seen)} topics were seen, and all of them deleted in the end"


def _replicated_topic(site: Site) -> list[int]:
    """Create the topic, make it the one that faults strike (the cluster's focus), and wait until
    all its replicas are in sync. Return the replicas, the preferred one first."""
    make_topic(_address(site), TOPIC, site.cluster.nodes)
    site.cluster.focus = (TOPIC, 0)
    site.expect(
        lambda: len(partition(_address(site), TOPIC).isr) == site.cluster.nodes, "all are in sync"
    )
    return list(partition(_address(site), TOPIC).replicas)


def _leader(site: Site) -> int:
    return partition(_address(site), TOPIC).leader


def _address(site: Site) -> tuple[str, int]:
    """Return the address of a running node that leads directly to it, without a proxy."""
    return site.cluster.direct(site.cluster.reachable()[0])
