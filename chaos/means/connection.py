"""One connection to one broker over our own codec: all requests of the harness itself go through
it. (Conformance cases have a connection of their own, which can send any bytes, requests without an
answer, and several requests at once.)

Source: ApiVersionsRequest.json (v0, which every broker answers).
"""

from __future__ import annotations

from typing import Any

from chaos.world import Address, Link, World, joined
from reference_impl.wire import ApiKey, Malformed, Struct, request_definition

_VERSION_MAX = {
    ApiKey.PRODUCE: 11,  # v12 joins transactions by itself (KIP-890), v13 names topics by id only
    ApiKey.FETCH: 12,  # v13 names topics by id only
    ApiKey.LIST_OFFSETS: 7,
    ApiKey.METADATA: 12,
    ApiKey.CREATE_TOPICS: 7,
    ApiKey.OFFSET_COMMIT: 9,  # v10 names topics by id
    ApiKey.OFFSET_FETCH: 7,  # the last version with one group per request
    ApiKey.FIND_COORDINATOR: 3,
    # The protocol of clients before KIP-890: the producer adds partitions to the transaction, and
    # its end does not change the epoch.
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.TXN_OFFSET_COMMIT: 4,
    ApiKey.END_TXN: 4,
}


class WireError(OSError):
    """Raised for no answer, an error, or an answer that is not valid Kafka. The message is one
    sentence."""

    answered: str | None = None
    """Kafka's name of the error that was answered, or None if there was no such answer."""


async def connected(world: World, address: Address, timeout_s: float) -> Connection:
    """Return a new connection to the broker. Raise WireError if it cannot be established."""
    try:
        return Connection(address, await world.dial(address, timeout_s))
    except OSError as error:
        why = error.strerror or error
        raise WireError(f"{joined(address)} cannot be reached: {why}") from error


class Connection:
    """One connection to one broker; one request at a time."""

    def __init__(self, address: Address, link: Link) -> None:
        self.address = address
        self._link = link
        self._versions: dict[int, tuple[int, int]] = {}

    async def ask(self, api: ApiKey, **fields: Any) -> Struct:
        """Send a request in the newest version that both sides support, of those that the harness
        uses (_VERSION_MAX). Return the body of the response. Raise WireError if no valid answer
        comes, or if the node does not serve the API in a version that is known here."""
        if not await self.serves(api):
            raise WireError(f"{joined(self.address)} does not serve {api.name}")
        definition = request_definition(api)
        served = range(self._versions[api][0], self._versions[api][1] + 1)
        wanted = min(_VERSION_MAX.get(api, 99), definition.valid_versions[-1], served[-1])
        if wanted not in served or wanted not in definition.valid_versions:
            raise WireError(f"{joined(self.address)} serves no version of {api.name} known here")
        return await self.exchange(api, wanted, definition.new(**fields))

    async def serves(self, api: ApiKey) -> bool:
        """Return whether the broker's ApiVersions lists the API. Only the first call sends that
        request. Raise WireError if the broker does not answer."""
        if not self._versions:
            await self._learn_versions()
        return api in self._versions

    async def _learn_versions(self) -> None:
        answer = await self.exchange(ApiKey.API_VERSIONS, 0, request_definition(18).new())
        for row in answer.api_keys:
            self._versions[row.api_key] = (row.min_version, row.max_version)

    async def exchange(
        self, api: ApiKey, version: int, body: Struct, timeout_s: float | None = None
    ) -> Struct:
        """Send one request in this version and return the body of the response. timeout_s: the time
        for the whole response; if it is None, the one given when connecting limits each read. Raise
        WireError, and close the connection, if no valid response comes."""
        try:
            return await self._link.exchange(api, version, body, timeout_s)
        except (OSError, Malformed) as error:
            self.close()
            raise WireError(f"{joined(self.address)}: {api.name}: {error}") from error

    def close(self) -> None:
        self._link.close()
