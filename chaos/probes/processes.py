"""Probe faults of processes: kill, pause, clean shutdown."""

from __future__ import annotations

import signal
import time

from chaos.probes.asking import is_silent
from chaos.probes.frame import QUIET_S, ProbeFailed, Site
from chaos.targets.clusters import probe
from chaos.values.faults import Kill, Pause, Shutdown
from chaos.world import joined


def a_killed_node_answers_nobody(site: Site) -> str:
    """Prove that no process of the node runs any more, and that the heal starts it again. Return
    what was seen."""
    with site.struck(Kill(1)):
        began = time.perf_counter()
        child = site.cluster.members()[0].child
        if child is None or child.running:
            raise ProbeFailed("the killed node still runs")
        site.expect(lambda: not probe.listens(_direct(site), QUIET_S), "nothing listens any more")
        gone_ms = site.apply_ms + (time.perf_counter() - began) * 1000
    return f"the node's port was closed after {gone_ms:.0f} ms; the node was restarted"


def a_paused_node_is_silent(site: Site) -> str:
    """Prove that the kernel accepts connections that get no response until the node continues.
    Return what was seen."""
    with site.struck(Pause(1)):
        if not is_silent(site.cluster.direct(1), QUIET_S):
            raise ProbeFailed("the paused node answered")
    return "a connection was accepted, and a request got no response"


def a_node_that_is_shut_down_ends_by_itself(site: Site) -> str:
    """Prove by its exit status that the node ended by itself and was not killed by SIGKILL. Return
    what was seen."""
    with site.struck(Shutdown(1)):
        child = site.cluster.members()[0].child
        status = child.exit_status if child is not None else None
        if status is None or -status == signal.SIGKILL:
            raise ProbeFailed(f"the node's exit status is {status}: it did not end by itself")
    return f"the node ended with status {status}, and was restarted"


def _direct(site: Site) -> str:
    return joined(site.cluster.direct(1))
