"""Throttle the copying of replicas that are not in sync, so that moving partitions leaves room for
clients.

Source: KIP-73; ReplicationQuotaManager.java, ReplicaManager.scala (shouldLeaderThrottle),
AbstractFetcherThread.java (shouldFollowerThrottle), SimpleRate.java. A topic names the replicas
that are throttled on the leader's side, and on the follower's; each broker has a rate for each
side. A replica in sync is never held back. Once more than the rate was
copied, throttled replicas wait. One fetch may exceed the rate: nothing is cut to fit it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import split_list
from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.quotas.rate import SimpleRate

LEADER, FOLLOWER = "leader", "follower"
ALL_REPLICAS = "*"


class ReplicationQuota:
    """The limit of one side: what this broker sends as a leader, or fetches as a follower."""

    def __init__(
        self, side: str, node_id: int, config: Callable[[], BrokerConfig], image: MetadataImage
    ) -> None:
        """config: a function that returns the broker's configuration in force."""
        self._rate_key = f"{side}.replication.throttled.rate"
        self._replicas_key = f"{side}.replication.throttled.replicas"
        self._node_id, self._config, self._image = node_id, config, image
        samples = config().number("replication.quota.window.num")
        sample_ms = config().number("replication.quota.window.size.seconds") * 1000
        self._rate = SimpleRate(samples, sample_ms)

    def concerns(self, topic: str, index: int) -> bool:
        """Return whether the replica of a partition on this broker is throttled on this side."""
        known = self._image.topics.get(topic)
        text = "" if known is None else known.configs.get(self._replicas_key, "")
        return bool(text) and is_named(text, index, self._node_id)

    def is_used_up(self, now_ms: int) -> bool:
        """Return whether more was copied than the rate allows. Return False if there is no rate."""
        limit = self._config().given.get(self._rate_key)
        return limit is not None and self._rate.measure(now_ms)[0] > int(limit)

    def record(self, amount: int, now_ms: int) -> None:
        """Count bytes of records of a throttled replica."""
        if amount:
            self._rate.record(amount, now_ms)


@lru_cache(maxsize=1024)
def is_named(text: str, index: int, node_id: int) -> bool:
    """Return whether a list of throttled replicas, PARTITION:BROKER or *, has this one."""
    return text.strip() == ALL_REPLICAS or f"{index}:{node_id}" in split_list(text)
