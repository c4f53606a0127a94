"""Probes of faults of processes: killed and paused."""

from __future__ import annotations

from chaos.faults import Kill, Pause
from chaos.probes.asking import is_silent
from chaos.probes.frame import QUIET_S, ProbeFailed, Site
from chaos.targets import probe


def a_killed_node_answers_nobody(site: Site) -> str:
    """Its process is gone; the heal starts it again."""
    with site.struck(Kill(1)):
        if probe.listens(_direct(site), QUIET_S):
            raise ProbeFailed("somebody listens where the killed node did")
    return "its port was closed; it was started again"


def a_paused_node_is_silent(site: Site) -> str:
    """The kernel accepts connections for it, and nobody reads them until it is continued."""
    with site.struck(Pause(1)):
        if not is_silent(site.cluster.direct(1), QUIET_S):
            raise ProbeFailed("the paused node answered")
    return "a dial was accepted and left without an answer"


def _direct(site: Site) -> str:
    host, port = site.cluster.direct(1)
    return f"{host}:{port}"
