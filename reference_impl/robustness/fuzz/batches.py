"""Draw record batches: valid ones, valid-looking ones that contradict themselves, and random
bytes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from functools import lru_cache
from random import Random

import cramjam
import lz4.frame
from crc32c import crc32c

from reference_impl.robustness.hostile import attacks
from reference_impl.wire import (
    CONTROL_BIT,
    HEADER_BYTES,
    TRANSACTIONAL_BIT,
    Compression,
    ControlRecordType,
    Record,
    RecordBatch,
    control_record,
)
from reference_impl.wire.batches.batch_header import HEADER

BOMB_BYTES = 160 << 20
"""The decompressed size of a bomb. It is above the limit, so that decompression must stop before
the memory is allocated."""
TIMESTAMPS = (1_700_000_000_000, -1, 0, 2**63 - 1, -(2**63), 1)
COUNTS = (0, -1, 1, 2, 1000, 2**31 - 1, -(2**31))
_ATTRIBUTES, _LAST_OFFSET_DELTA, _RECORDS_COUNT = 21, 23, 57


class Batches:
    """Draws the `records` of a Produce request."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.producers: list[tuple[int, int]] = []
        """(producer id, epoch) of the producers that the case knows."""
        self._sequence = 0

    def draw(self) -> bytes | None:
        """Return a batch that is usually valid, or None for null records."""
        makers: tuple[tuple[int, Callable[[], bytes | None]], ...] = (
            (60, self._sound),
            (8, self._with_lying_header),
            (6, self._flipped),
            (5, self._with_lying_payload),
            (4, self._truncated),
            (3, lambda: self._sound() + self._sound()),
            (3, lambda: self._random.randbytes(self._random.randrange(200))),
            (3, self._control),
            (2, lambda: self._sound()[:16] + bytes((self._random.randrange(5),)) + bytes(60)),
            (2, lambda: None),
            (1, lambda: self._random.choice(bombs())),
        )
        weights = [weight for weight, _ in makers]
        return self._random.choices([maker for _, maker in makers], weights)[0]()

    def _records(self) -> list[Record]:
        draw = self._random
        return [
            Record(
                draw.choice((None, b"", b"v" * draw.randrange(200))),
                draw.choice((None, b"", b"k1", b"k2", b"k3")),
                [("h", b"x")] * draw.choice((0, 0, 0, 1, 20)),
                timestamp_delta=draw.choice((0, 0, 0, 1, -1)),
            )
            for _ in range(draw.choice((1, 1, 2, 5, 50)))
        ]

    def _sound(self) -> bytes:
        draw = self._random
        batch = RecordBatch(
            self._records(),
            attributes=draw.choice((0, 0, 0, 1, 2, 3, 4)),
            base_timestamp=draw.choice(TIMESTAMPS),
        )
        if self.producers and draw.random() < 0.7:
            batch.producer_id, batch.producer_epoch = draw.choice(self.producers)
            batch.attributes |= draw.choice((0, TRANSACTIONAL_BIT))
            batch.base_sequence = draw.choice((self._sequence, self._sequence, 0, 2**31 - 1))
            self._sequence = batch.base_sequence + len(batch.records) & 0x7FFFFFFF
        return _encoded(batch)

    def _control(self) -> bytes:
        kind = self._random.choice(list(ControlRecordType))
        return RecordBatch([control_record(kind, b"\0" * 6)], attributes=CONTROL_BIT).encode()

    def _with_lying_header(self) -> bytes:
        """Return a batch with one header field that contradicts the rest, under a correct CRC."""
        data = bytearray(self._sound())
        at, form, values = self._random.choice(
            (
                (_ATTRIBUTES, ">h", (5, 7, 8, 0x10, 0x20, 0x40, -1)),
                (_LAST_OFFSET_DELTA, ">i", COUNTS),
                (_RECORDS_COUNT, ">i", COUNTS),
                (35, ">q", TIMESTAMPS),
                (43, ">q", (0, 1, -1, -2, 2**63 - 1)),
                (51, ">h", (0, -1, 2**15 - 1)),
                (53, ">i", COUNTS),
            )
        )
        struct.pack_into(form, data, at, self._random.choice(values))
        return _with_crc(data)

    def _with_lying_payload(self) -> bytes:
        """Return a batch whose records contradict themselves, under a correct CRC."""
        data = bytearray(self._sound())
        for _ in range(self._random.randint(1, 3)):
            data[self._random.randrange(HEADER_BYTES, len(data))] = self._random.randrange(256)
        return _with_crc(data)

    def _flipped(self) -> bytes:
        data = bytearray(self._sound())
        data[self._random.randrange(len(data))] ^= 1 << self._random.randrange(8)
        return bytes(data)

    def _truncated(self) -> bytes:
        data = self._sound()
        return data[: self._random.randrange(len(data))]


def _encoded(batch: RecordBatch) -> bytes:
    """Encode the batch; if its maximum timestamp does not fit into an int64, first set that to the
    base timestamp."""
    try:
        return batch.encode()
    except struct.error:
        batch.max_timestamp = batch.base_timestamp
        return batch.encode()


def _with_crc(data: bytearray) -> bytes:
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


@lru_cache(1)
def bombs() -> tuple[bytes, ...]:
    """Return batches of less than a mebibyte that decompress to very many bytes or records: more
    than the limit, or a valid but large content."""
    zeros = bytes(BOMB_BYTES)
    deflate = zlib.compressobj(wbits=31)
    payloads = (
        (Compression.GZIP, deflate.compress(zeros) + deflate.flush()),
        (Compression.ZSTD, bytes(cramjam.zstd.compress(zeros))),
        (Compression.LZ4, bytes(lz4.frame.compress(zeros, block_linked=False))),
        (Compression.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"\0" * 50),  # claims 4 GiB
    )
    zeros_only = (_bomb(kind, payload) for kind, payload in payloads if len(payload) < 1 << 20)
    return *zeros_only, attacks.wrong_bomb(), attacks.right_bomb(30_000), attacks.large_record()


def _bomb(kind: Compression, payload: bytes) -> bytes:
    tail = len(payload) + HEADER_BYTES - 12
    header = HEADER.pack(0, tail, -1, 2, 0, kind, 0, -1, -1, -1, -1, -1, 1)
    return _with_crc(bytearray(header + payload))
