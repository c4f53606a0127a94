"""Make links slow or narrow, or end connections at bad moments, without cutting them.

None of these loses anything for good: a client must retry a request whose response it did not get,
and idempotence must keep the retry from storing a duplicate (KIP-98).
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
    """Delay what passes some links, by less or more than session and request time-outs allow."""

    name = "latency"
    faults: frozenset[type[Fault]] = frozenset({SlowLinks, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield, without end, faults that delay one kind of links, of the leader, a follower or all
        nodes, by 50 ms to 1.5 s in each direction, with a jitter of half of that, each followed by
        a heal."""

        def blow() -> Fault:
            latency_ms = rng.choice((50, 200, 600, 1500))
            return SlowLinks(rng.choice(NODES), latency_ms, latency_ms // 2, rng.choice(WHERE))

        return rounds(rng, blow, CALM, HOLD)


class NarrowNetwork:
    """Limit links to a few kilobytes per second, so that replication falls behind and responses
    take long."""

    name = "bandwidth"
    faults: frozenset[type[Fault]] = frozenset({NarrowLinks, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield, without end, faults that limit one kind of links, of the leader, a follower or all
        nodes, to 1, 8 or 64 kilobytes per second, each followed by a heal."""

        def blow() -> Fault:
            return NarrowLinks(rng.choice(NODES), rng.choice((1, 8, 64)), rng.choice(WHERE))

        return rounds(rng, blow, CALM, HOLD)


class Resets:
    """Reset connections when a response passes: the request was executed, and the client must send
    it again."""

    name = "reset"
    faults: frozenset[type[Fault]] = frozenset({ResetConnections, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield, without end, faults that reset connections when a response passes or half a second
        later, each followed by a heal."""

        def blow() -> Fault:
            return ResetConnections(rng.choice(NODES), rng.choice((0, 500)), rng.choice(WHERE))

        return rounds(rng, blow, (0.5, 2.0), (0.3, 3.0))


class SlowCloses:
    """Delay the closing of connections, so that a broker still believes that clients are connected
    which are gone (half-open connections)."""

    name = "slow-close"
    faults: frozenset[type[Fault]] = frozenset({SlowClose, ResetConnections, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield faults that delay the closing of connections with clients, or of those between
        nodes, by 1 to 4 seconds, each followed by one that resets the leader's connections of that
        kind at its next response, and by a heal."""
        while True:
            where = rng.choice(WHERE)
            yield rng.uniform(*CALM), SlowClose("all", rng.randrange(1000, 4000), where)
            yield rng.uniform(0.1, 1.0), ResetConnections("leader", 0, where)
            yield rng.uniform(1.0, 4.0), Heal()


class CutShort:
    """End connections in the middle of a request or a response."""

    name = "limit-data"
    faults: frozenset[type[Fault]] = frozenset({LimitData, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield faults that end a connection after 100 bytes to 30 kilobytes: enough for the
        handshake, or for some batches."""

        def blow() -> Fault:
            size_bytes = rng.choice((100, 1000, 5000, 30_000))
            return LimitData(rng.choice(NODES), size_bytes, rng.choice(WHERE))

        return rounds(rng, blow, CALM, (1.0, 4.0))


class LossyNetwork:
    """Let some connections transfer nothing and end after a while; the others are not affected."""

    name = "stalled-connections"
    faults: frozenset[type[Fault]] = frozenset({StallConnections, Heal})
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield, without end, faults under which 20 %, 50 % or 80 % of the connections of one kind
        of links, of the leader, a follower or all nodes, transfer nothing and end after 0.5 to 5
        seconds, each followed by a heal."""

        def blow() -> Fault:
            share, timeout_ms = rng.choice((0.2, 0.5, 0.8)), rng.choice((500, 2000, 5000))
            return StallConnections(rng.choice(NODES), share, timeout_ms, rng.choice(WHERE))

        return rounds(rng, blow, CALM, HOLD)
