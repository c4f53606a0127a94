"""Probe faults of wall clocks: a node refuses records whose timestamps lie in its future
(KIP-937)."""

from __future__ import annotations

from chaos.probes.asking import append, make_topic, refusal
from chaos.probes.frame import PATIENCE_S, Site
from chaos.values.faults import ClockJump, ClockSkew, Fault

TOPIC = "probe-clocks"
AFTER_MAX_MS = 2_000
"""The value of message.timestamp.after.max.ms on the nodes that probes of clocks use."""


def a_clock_that_was_put_back_refuses_the_present(site: Site) -> str:
    """Prove that current timestamps are refused until the clock is right again. Return what was
    seen."""
    return _is_refused(site, ClockJump(1, -10 * AFTER_MAX_MS))


def a_clock_that_stands_still_refuses_the_present(site: Site) -> str:
    """Prove that current timestamps are refused once the clock is far enough behind, until it is
    right again. Return what was seen."""
    return _is_refused(site, ClockSkew(1, -1_000_000))


def _is_refused(site: Site, fault: Fault) -> str:
    address = site.cluster.direct(1)
    make_topic(address, TOPIC)
    append(address, TOPIC, PATIENCE_S)
    with site.struck(fault):
        said = refusal(site, TOPIC, "a record with the current time is refused")
    append(address, TOPIC, PATIENCE_S)
    return f"a record with the current time was refused: {said}"
