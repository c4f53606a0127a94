"""The reference producer and consumer over TCP, with asyncio.

    async with Producer("localhost:9092", {"linger.ms": 20}) as producer:
        metadata = await producer.send("topic", b"value", key=b"key")

Their calls are those of `reference_impl.client.awaited`. Make them inside the event loop.
Configuration is by Kafka's own names (`reference_impl/client/config.py`). Errors are ClientError.
For TLS or SASL, pass a `reference_impl.access.Bootstrap` instead of a plain address.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from reference_impl.access import access_of
from reference_impl.client.awaited import consumer, producer
from reference_impl.client.awaited.driver import Drive
from reference_impl.client.consumer import Consumer as ConsumerMachine
from reference_impl.client.producer import Producer as ProducerMachine
from reference_impl.host.client_driver import ClientDriver


class Producer(producer.Producer):
    """A producer over TCP for one event loop. Create it inside the loop, and close it. seed: of its
    random choices. Raise ConfigError for a configuration that cannot be used."""

    def __init__(
        self, bootstrap: str, config: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        settings = {"bootstrap.servers": bootstrap, **(config or {})}
        super().__init__(ProducerMachine(settings, Random(seed)), over_tcp(bootstrap))


class Consumer(consumer.Consumer):
    """A consumer over TCP for one event loop. Create it inside the loop, and close it. seed: of its
    random choices. Raise ConfigError for a configuration that cannot be used."""

    def __init__(
        self, bootstrap: str, config: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        settings = {"bootstrap.servers": bootstrap, **(config or {})}
        super().__init__(ConsumerMachine(settings, Random(seed)), over_tcp(bootstrap))


def over_tcp(bootstrap: str) -> Drive:
    """Return a function that creates drivers, which connect client machines over TCP in the running
    event loop, with the Access of the bootstrap addresses."""
    access = access_of(bootstrap)
    return lambda machine, on_change: ClientDriver(machine, on_change, access)
