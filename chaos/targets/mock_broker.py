"""Serve librdkafka's mock broker at a chosen port: `python -m chaos.targets.mock_broker PORT`.

librdkafka starts the broker inside a client (`test.mock.num.brokers`), at a port that it chooses
itself. This process keeps such a client, and forwards what comes to its own port. Metadata names
the mock's own port, which can be reached too.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio import StreamReader, StreamWriter
from contextlib import suppress

from confluent_kafka import Producer

from chaos.targets.clusters.layout import LOOPBACK

CHUNK_BYTES = 1 << 16
START_S = 10.0


async def relay(source: StreamReader, sink: StreamWriter) -> None:
    """Forward all bytes of `source` to `sink` until one of them ends, and then close `sink`."""
    with suppress(OSError):
        while data := await source.read(CHUNK_BYTES):
            sink.write(data)
            await sink.drain()
    sink.close()


async def serve(port: int) -> None:
    """Start the mock, and forward connections to it until the process is ended."""
    client = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = client.list_topics(timeout=START_S).brokers.values()

    async def forward(reader: StreamReader, writer: StreamWriter) -> None:
        try:
            answers, requests = await asyncio.open_connection(broker.host, broker.port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(relay(reader, requests), relay(answers, writer))

    async with await asyncio.start_server(forward, LOOPBACK, port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
