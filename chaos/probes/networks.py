"""Probe faults of links: between clients and a node, and between nodes."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from typing import cast

from chaos.probes.asking import is_refused, is_silent
from chaos.probes.frame import PATIENCE_S, QUIET_S, ProbeFailed, Site
from chaos.probes.small_cluster import SmallCluster
from chaos.values.faults import (
    CutClients,
    CutControllers,
    CutLink,
    DelayAnswers,
    DropPackets,
    Fault,
    Isolate,
    LimitData,
    LosePackets,
    NarrowLinks,
    ResetConnections,
    Shape,
    SlowClose,
    SlowLinks,
    Split,
    StallConnections,
)

DELAY_MS = 300
JITTER_MS = 20
NARROW_KB, NARROW_LEAST_MS = 256, 300
LIMIT_BYTES = 100  # more bytes than the request has, and fewer than the response
STALL_MS = 100
CONNECTIONS_MAX = 40  # the chance that none or all of them stall is 1 in 2 ** 39
LOST_PERCENT, AGAIN_MS = 20, 190
NOT_KAFKA = b"\x7f\xff\xff\xff"


def clients_are_refused(site: Site) -> str:
    """Prove that new connections of clients are refused. Return what was seen."""
    with site.struck(CutClients(1, how="refuse")):
        site.expect(lambda: is_refused(site.client()), "a client is refused")
    return "a client's dial was refused"


def clients_are_left_without_an_answer(site: Site) -> str:
    """Prove that clients' connections are accepted but get no response, while the node itself still
    answers at its own address, without the proxy. Return what was seen."""
    with site.struck(CutClients(1)):
        if not is_silent(site.client(), QUIET_S):
            raise ProbeFailed("a client got a response although its link was cut")
        if not site.cluster.alive():
            raise ProbeFailed("the node does not answer even when the proxies are bypassed")
    return "a client's request was left without an answer"


def answers_are_late(site: Site) -> str:
    """Prove that responses are late by the requested delay, and not after the heal. Return what was
    seen."""
    return _late_under(site, DelayAnswers(1, latency_ms=DELAY_MS))


def one_node_cannot_dial_another(site: Site) -> str:
    """Prove that one direction of one link is cut, while the other direction and the third node go
    on. Return what was seen."""
    expect_dials(site, cut=set())
    with site.struck(CutLink(1, 2, how="refuse")):
        expect_dials(site, cut={(1, 2)}, how="refused")
    expect_dials(site, cut=set())
    return "node 2 refused node 1, and node 1 answered node 2"


def an_isolated_node_is_alone(site: Site) -> str:
    """Prove that a node is cut off from the others, in both directions. Return what was seen."""
    with site.struck(Isolate(1)):
        expect_dials(site, cut={(1, 2), (2, 1), (1, 3), (3, 1)}, how="silent")
    expect_dials(site, cut=set())
    return "connections to and from node 1 got no answer; nodes 2 and 3 answered each other"


def only_controllers_are_cut(site: Site) -> str:
    """Prove that a node's controller is cut off, while its broker opens and accepts connections.
    Return what was seen."""
    cut = {(1, 2), (2, 1), (1, 3), (3, 1)}
    with site.struck(CutControllers(1, how="refuse")):
        expect_dials(site, cut, "refused", listener="CONTROLLER")
        expect_dials(site, set())
    expect_dials(site, set(), listener="CONTROLLER")
    return "the other controllers refused node 1, and the other brokers answered it"


def a_minority_is_split_off(site: Site) -> str:
    """Prove that one of three nodes is cut off and the two others reach each other. Return what was
    seen."""
    return _split(site, "halves", {(1, 2), (2, 1), (1, 3), (3, 1)})


def a_bridge_sees_both_sides(site: Site) -> str:
    """Prove that one node reaches both others, which do not reach each other. Return what was
    seen."""
    return _split(site, "bridge", {(2, 3), (3, 2)})


def a_ring_of_majorities(site: Site) -> str:
    """Prove that each node can open connections to the next one only: each reaches two of three,
    and no two reach the same. Return what was seen."""
    return _split(site, "ring", {(1, 3), (2, 1), (3, 2)})


def _split(site: Site, shape: Shape, cut: set[tuple[int, int]]) -> str:
    with site.struck(Split(shape, 1, how="refuse")):
        expect_dials(site, cut, "refused")
    expect_dials(site, set())
    told = ", ".join(f"{source} to {to}" for source, to in sorted(cut))
    return f"{shape}: refused were the connections from node {told}"


def what_passes_is_late(site: Site) -> str:
    """Prove that a response is late by twice the latency, which applies in both directions. Return
    what was seen."""
    return _late_under(site, SlowLinks(1, latency_ms=DELAY_MS // 2))


def _late_under(site: Site, fault: Fault) -> str:
    with site.struck(fault):
        late_ms = _answered_after_ms(site)
        if late_ms < DELAY_MS:
            raise ProbeFailed(
                f"a response came after {late_ms:.0f} ms, not after {DELAY_MS} ms or more"
            )
    site.expect(lambda: _answered_after_ms(site) < DELAY_MS, "responses are in time again")
    return f"a response came after {late_ms:.0f} ms"


def a_node_is_far_away(site: Site) -> str:
    """Prove that a connection and a response take the delay twice, while other nodes are as near as
    before. Return what was seen."""
    cluster = cast(SmallCluster, site.cluster)
    with site.struck(SlowLinks(2, latency_ms=DELAY_MS // 2, jitter_ms=JITTER_MS, where="nodes")):
        far_ms, back_ms, near_ms = (cluster.dial_ms(*pair) for pair in ((1, 2), (2, 1), (1, 3)))
        least_ms = 2 * DELAY_MS - 4 * JITTER_MS
        if min(far_ms, back_ms) < least_ms or near_ms >= least_ms:
            raise ProbeFailed(
                f"connecting took {far_ms} ms to the node, {back_ms} ms from it,"
                f" {near_ms} ms elsewhere"
            )
    site.expect(lambda: cluster.dial_ms(1, 2) < least_ms, "it is near again")
    return f"connecting took {far_ms} ms to the node, {back_ms} ms from it, {near_ms} ms elsewhere"


def many_bytes_take_long(site: Site) -> str:
    """Prove that half a second's worth of bytes takes NARROW_LEAST_MS or more over a narrow link,
    and less time once the link is healed. Return what was seen."""
    cluster = cast(SmallCluster, site.cluster)
    with site.struck(NarrowLinks(2, rate_kb_s=2 * NARROW_KB, where="nodes")):
        took_ms = cluster.send(1, 2, NARROW_KB * 1024)
        if took_ms < NARROW_LEAST_MS:
            raise ProbeFailed(
                f"{NARROW_KB} KiB passed the narrow link within {took_ms} ms, not {NARROW_LEAST_MS}"
                " or more"
            )
    if (well_ms := cluster.send(1, 2, NARROW_KB * 1024)) >= took_ms:
        raise ProbeFailed(
            f"the heal did not restore the link: sending {NARROW_KB} KiB took {took_ms} ms while it"
            f" was narrow, and {well_ms} ms after the heal; it must be faster then"
        )
    return f"sending {NARROW_KB} KiB took {took_ms} ms, and {well_ms} ms after the heal"


def connections_are_reset(site: Site) -> str:
    """Prove that new connections are reset and existing ones end as well (toxiproxy can only close
    those). Return what was seen."""
    with socket.create_connection(site.client(), timeout=PATIENCE_S) as there:
        site.ask_over(there)
        with site.struck(ResetConnections(1)):
            ends = [_end_of_question(site, there)]
            with socket.create_connection(site.client(), timeout=PATIENCE_S) as late:
                ends.append(_end_of_question(site, late))
    if "answer" in ends or ends[1] != "reset":
        raise ProbeFailed(
            f"the existing and the new connection got: {', '.join(ends)}; expected a reset"
        )
    return f"instead of a response, the existing connection got a {ends[0]}, the new one a reset"


def a_close_is_late(site: Site) -> str:
    """Prove that the client learns late that the node has closed the connection. Return what was
    seen."""
    with site.struck(SlowClose(1, delay_ms=DELAY_MS)):
        with socket.create_connection(site.client(), timeout=PATIENCE_S) as connection:
            began = time.perf_counter()
            connection.sendall(NOT_KAFKA)  # an oversized request: the node closes the connection
            is_closed = not connection.recv(1)
            late_ms = (time.perf_counter() - began) * 1000
        if not is_closed or late_ms < DELAY_MS:
            raise ProbeFailed(f"a close was seen after {late_ms:.0f} ms, not {DELAY_MS} or more")
    return f"the client saw the node's close after {late_ms:.0f} ms"


def a_connection_ends_in_the_midst_of_an_answer(site: Site) -> str:
    """Prove that a connection ends after the given number of bytes of a response. Return what was
    seen."""
    fault = LimitData(1, size_bytes=LIMIT_BYTES)
    with site.struck(fault), socket.create_connection(site.client(), PATIENCE_S) as connection:
        received = site.ask_over(connection, whole=False)
    if len(received) != LIMIT_BYTES:
        raise ProbeFailed(f"{len(received)} bytes of a response came, not {LIMIT_BYTES}")
    site.expect(site.answers, "a whole response after the heal")
    return f"{LIMIT_BYTES} bytes of a response came, then the connection ended"


def a_share_of_the_connections_stalls(site: Site) -> str:
    """Prove that some connections get no response and end, while others are answered. Return what
    was seen."""
    stalled = answered = 0
    with site.struck(StallConnections(1, share=0.5, timeout_ms=STALL_MS)):
        for _ in range(CONNECTIONS_MAX):
            with socket.create_connection(site.client(), timeout=PATIENCE_S) as connection:
                if site.ask_over(connection):
                    answered += 1
                else:
                    stalled += 1
            if stalled and answered:
                break
    if not (stalled and answered):
        raise ProbeFailed(
            f"{stalled} connections stalled and {answered} were answered, instead of some of each"
        )
    return f"{stalled} connections stalled and ended, {answered} were answered"


def packets_are_dropped_one_way(site: Site) -> str:
    """Prove that no packet from node 1 reaches node 2, so that neither gets a response from the
    other, while node 3 is answered by both. Return what was seen."""
    with site.struck(DropPackets(1, 2)):
        expect_dials(site, cut={(1, 2), (2, 1)})
    expect_dials(site, cut=set())
    return "nodes 1 and 2 got no answer from each other, and both answered node 3"


def some_packets_are_lost(site: Site) -> str:
    """Prove that some connections take AGAIN_MS or more until the response, since TCP retransmits
    lost packets, and others less. Return what was seen."""
    cluster = cast(SmallCluster, site.cluster)
    slow = quick = 0
    with site.struck(LosePackets(2, LOST_PERCENT)):
        for _ in range(CONNECTIONS_MAX):
            if cluster.dial_ms(1, 2) >= AGAIN_MS:
                slow += 1
            else:
                quick += 1
            if slow and quick:
                break
    if not (slow and quick):
        raise ProbeFailed(
            f"{slow} connections lost packets and {quick} did not, instead of some of each"
        )
    return f"{slow} of {slow + quick} connections had packets retransmitted"


def expect_dials(
    site: Site, cut: set[tuple[int, int]], how: str = "silent", listener: str = "INTERNAL"
) -> None:
    """Let every node open a connection to every other. Raise ProbeFailed unless exactly the links
    in `cut` (pairs of source and destination) fail, in the way `how`: "silent" or "refused"."""
    cluster = cast(SmallCluster, site.cluster)
    pairs = list(permutations(range(1, cluster.nodes + 1), 2))

    def dial(pair: tuple[int, int]) -> str:
        is_silent = pair in cut and how == "silent"
        return cluster.dial(*pair, QUIET_S if is_silent else PATIENCE_S, listener)

    with ThreadPoolExecutor(len(pairs)) as pool:
        for (source, to), told in zip(pairs, pool.map(dial, pairs), strict=True):
            wanted = how if (source, to) in cut else "answered"
            if told != wanted:
                raise ProbeFailed(f"{source} dialled {to} and was {told}, not {wanted}")


def _answered_after_ms(site: Site) -> float:
    began = time.perf_counter()
    if not site.answers():
        raise ProbeFailed("no answer at all")
    return (time.perf_counter() - began) * 1000


def _end_of_question(site: Site, connection: socket.socket) -> str:
    try:
        return "answer" if site.ask_over(connection) else "close"
    except ConnectionResetError:
        return "reset"
