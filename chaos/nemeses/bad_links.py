"""Links that are slow, narrow, or end connections at bad moments, without being cut.

Nothing is lost for good by any of them: what an answer does not tell, a client must ask again, and
idempotence must keep a retry from becoming a second copy (KIP-98).
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.nemeses.rounds import rounds
from chaos.values.faults import (
    Fault,
    Heal,
    LimitData,
    NarrowLinks,
    ResetConnections,
    SlowClose,
    SlowLinks,
    StallConnections,
    Where,
)

NODES = ("leader", "follower", "all")
WHERE: tuple[Where, ...] = ("clients", "nodes")
CALM, HOLD = (1.0, 3.0), (2.0, 6.0)


class SlowNetwork:
    """Everything is late, by more or less than sessions and request timeouts allow for."""

    name = "latency"
    faults: frozenset[type[Fault]] = frozenset({SlowLinks, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule delays of 50 ms to 1.5 s each way, with a jitter of up to half of that."""

        def blow() -> Fault:
            latency_ms = rng.choice((50, 200, 600, 1500))
            return SlowLinks(rng.choice(NODES), latency_ms, latency_ms // 2, rng.choice(WHERE))

        return rounds(rng, blow, CALM, HOLD)


class NarrowNetwork:
    """A few kilobytes a second: replication falls behind, answers crawl."""

    name = "bandwidth"
    faults: frozenset[type[Fault]] = frozenset({NarrowLinks, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule limits of 1 to 64 kilobytes a second."""

        def blow() -> Fault:
            return NarrowLinks(rng.choice(NODES), rng.choice((1, 8, 64)), rng.choice(WHERE))

        return rounds(rng, blow, CALM, HOLD)


class Resets:
    """Connections are reset when an answer comes: it was done, and the client must ask again."""

    name = "reset"
    faults: frozenset[type[Fault]] = frozenset({ResetConnections, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule connections that close at once, or half a second late."""

        def blow() -> Fault:
            return ResetConnections(rng.choice(NODES), rng.choice((0, 500)), rng.choice(WHERE))

        return rounds(rng, blow, (0.5, 2.0), (0.3, 3.0))


class SlowCloses:
    """Delay closes, so that a client that hung up is believed to be there: half-open
    connections."""

    name = "slow-close"
    faults: frozenset[type[Fault]] = frozenset({SlowClose, ResetConnections, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule closes that take 1 to 4 seconds, while answers end connections."""
        while True:
            where = rng.choice(WHERE)
            yield rng.uniform(*CALM), SlowClose("all", rng.randrange(1000, 4000), where)
            yield rng.uniform(0.1, 1.0), ResetConnections("leader", 0, where)
            yield rng.uniform(1.0, 4.0), Heal()


class CutShort:
    """Connections end in the midst of a request or an answer."""

    name = "limit-data"
    faults: frozenset[type[Fault]] = frozenset({LimitData, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule cuts after 100 bytes to 30 kilobytes: the handshake, or some batches, still get
        through."""

        def blow() -> Fault:
            size_bytes = rng.choice((100, 1000, 5000, 30_000))
            return LimitData(rng.choice(NODES), size_bytes, rng.choice(WHERE))

        return rounds(rng, blow, CALM, (1.0, 4.0))


class LossyNetwork:
    """Let some connections pass nothing and end after a while; others go on."""

    name = "stalled-connections"
    faults: frozenset[type[Fault]] = frozenset({StallConnections, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule losses of a fifth to four fifths of the packets, for 0.5 to 5 seconds."""

        def blow() -> Fault:
            share, timeout_ms = rng.choice((0.2, 0.5, 0.8)), rng.choice((500, 2000, 5000))
            return StallConnections(rng.choice(NODES), share, timeout_ms, rng.choice(WHERE))

        return rounds(rng, blow, CALM, HOLD)
