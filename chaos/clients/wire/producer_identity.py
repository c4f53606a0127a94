"""Hold the identity of a raw producer (producer id and epoch), and send coordinators the requests
that need it.

Sources: InitProducerIdRequest.json, FindCoordinatorRequest.json; KIP-98.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from chaos.clients.transaction_rows import init_producer_row
from chaos.clients.wire.attempts import insist
from chaos.clients.wire.wire_link import WireCluster, check, kafka_name
from chaos.values.protocols import ClientSettings
from chaos.world import Address, World
from reference_impl.wire import ApiKey, Struct

GROUP, TRANSACTION = 0, 1  # FindCoordinatorRequest.json, field KeyType
INIT_TIMEOUT_S = 8.0
SOCKET_TIMEOUT_S = 3.0
Place = tuple[str, int]


@dataclass
class Identity:
    """A producer id and epoch, with the sequence numbers, batches, partitions and groups of the
    producer so far."""

    producer_id: int
    epoch: int
    sequences: dict[Place, int] = field(default_factory=dict)
    batches: dict[Place, deque[bytes]] = field(default_factory=dict)
    joined: set[Place] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)


class IdentifiedProducer:
    """Keeps a producer's identity, and the earlier identity which it has fenced."""

    def __init__(self, world: World, bootstrap: str, settings: ClientSettings) -> None:
        self._world = world
        self._cluster = WireCluster(world, bootstrap, SOCKET_TIMEOUT_S)
        self._settings = settings
        self._identity: Identity | None = None
        self._former: Identity | None = None

    async def _coordinator(self, key: str, kind: int) -> Address:
        answer = await self._cluster.ask_any(ApiKey.FIND_COORDINATOR, key=key, key_type=kind)
        check(answer.error_code, f"FindCoordinator {key}")
        return answer.host, answer.port

    async def _ask_coordinator(self, api: ApiKey, **fields: Any) -> Struct:
        transactional_id = self._settings.transactional_id
        assert transactional_id is not None
        address = await self._coordinator(transactional_id, TRANSACTION)
        return await self._cluster.ask(address, api, **fields)

    def _known(self) -> Identity:
        assert self._identity is not None  # the producer has begun
        return self._identity

    async def _init(self) -> Identity:
        """Return a new producer id and epoch from InitProducerId, without taking them on. Raise
        Refused if the broker returns an error that no retry changes, or if the time is up."""
        found: list[Identity] = []

        async def attempt() -> str | None:
            fields: dict[str, Any] = {"transaction_timeout_ms": (1 << 31) - 1}
            if self._settings.transactional:
                fields["transaction_timeout_ms"] = self._settings.transaction_timeout_ms
                fields["transactional_id"] = self._settings.transactional_id
                answer = await self._ask_coordinator(ApiKey.INIT_PRODUCER_ID, **fields)
            else:
                fields["transactional_id"] = None
                answer = await self._cluster.ask_any(ApiKey.INIT_PRODUCER_ID, **fields)
            if answer.error_code:
                return kafka_name(answer.error_code)
            found.append(Identity(answer.producer_id, answer.producer_epoch))
            return None

        await insist(self._world, INIT_TIMEOUT_S, attempt)
        return found[0]

    def _row(self, identity: Identity | None) -> Any:
        assert identity is not None
        return init_producer_row(
            self._world.monotonic_ns(), self._settings, identity.producer_id, identity.epoch
        )
