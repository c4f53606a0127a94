"""Probes of faults of links: between clients and a node, and between nodes."""

from __future__ import annotations

import time
from typing import cast

from chaos.faults import CutClients, CutLink, DelayAnswers, Isolate
from chaos.probes.asking import is_refused, is_silent
from chaos.probes.frame import QUIET_S, ProbeFailed, Site
from chaos.probes.small_cluster import SmallCluster

DELAY_MS = 300


def clients_are_refused(site: Site) -> str:
    """Their connections end, and new ones are refused."""
    with site.struck(CutClients(1, how="refuse")):
        site.expect(lambda: is_refused(site.client()), "a client is refused")
    return "a client's dial was refused"


def clients_are_left_without_an_answer(site: Site) -> str:
    """Their dials are accepted, and nothing comes back; past the proxies the node is well."""
    with site.struck(CutClients(1)):
        if not is_silent(site.client(), QUIET_S):
            raise ProbeFailed("a client was answered through a black hole")
        if not site.cluster.alive():
            raise ProbeFailed("the node does not answer past the proxies")
    return "a client's request was left without an answer"


def answers_are_late(site: Site) -> str:
    """By what was asked for, and not after the heal."""
    with site.struck(DelayAnswers(1, latency_ms=DELAY_MS)):
        late_ms = _answered_after_ms(site)
        if late_ms < DELAY_MS:
            raise ProbeFailed(f"an answer came after {late_ms:.0f} ms instead of {DELAY_MS}")
    site.expect(lambda: _answered_after_ms(site) < DELAY_MS, "answers are in time again")
    return f"an answer came after {late_ms:.0f} ms"


def one_node_cannot_dial_another(site: Site) -> str:
    """One direction of one link: the other direction, and the third node, go on."""
    expect_dials(site, cut=set())
    with site.struck(CutLink(1, 2, how="refuse")):
        expect_dials(site, cut={(1, 2)}, how="refused")
    expect_dials(site, cut=set())
    return "1 was refused by 2, and 2 answered by 1"


def an_isolated_node_is_alone(site: Site) -> str:
    """Cut from the others, both ways."""
    with site.struck(Isolate(1)):
        expect_dials(site, cut={(1, 2), (2, 1), (1, 3), (3, 1)}, how="silent")
    expect_dials(site, cut=set())
    return "dials to and from 1 were silent; 2 and 3 answered each other"


def expect_dials(
    site: Site, cut: set[tuple[int, int]], how: str = "silent", listener: str = "INTERNAL"
) -> None:
    """Every node dials every other: those links are cut, and no others."""
    cluster = cast(SmallCluster, site.cluster)
    for source in range(1, cluster.nodes + 1):
        for to in range(1, cluster.nodes + 1):
            if source == to:
                continue
            wanted = how if (source, to) in cut else "answered"
            patience_s = QUIET_S if wanted == "silent" else 10.0
            told = cluster.dial(source, to, patience_s, listener)
            if told != wanted:
                raise ProbeFailed(f"{source} dialled {to} and was {told}, not {wanted}")


def _answered_after_ms(site: Site) -> float:
    began = time.perf_counter()
    if not site.answers():
        raise ProbeFailed("no answer at all")
    return (time.perf_counter() - began) * 1000
