"""Kafka's own record classes as the oracle of ours: each reads what the other writes."""

from __future__ import annotations

from random import Random

import pytest

from reference_impl.wire.batches.batch_header import read_header
from reference_impl.wire.batches.compression import Compression
from reference_impl.wire.batches.control_records import ControlRecordType, end_txn_marker
from reference_impl.wire.batches.records import NO_TIMESTAMP, Record, RecordBatch, patched
from reference_impl.wire.malformed import CorruptRecord
from reference_impl.wire.tests import java_oracle

pytestmark = pytest.mark.needs("jdk", "kafka-jars")
BATCHES_PER_CODEC = 40


def drawn_batch(random: Random, compression: Compression) -> RecordBatch:
    """Return a batch as producers send it, with every form of key, value and header."""
    idempotent = random.random() < 0.5
    records = [
        Record(
            value=random.choice((None, b"", b"v" * random.randrange(3000), random.randbytes(90))),
            key=random.choice((None, b"", random.randbytes(random.randrange(40)))),
            headers=[
                (random.choice(("", "h", "hé")), random.choice((None, b"", b"\1\2")))
                for _ in range(random.choice((0, 0, 1, 3)))
            ],
            timestamp_delta=random.choice((0, 1, -7, 1 << 40)),
        )
        for _ in range(random.choice((1, 2, 60)))
    ]
    return RecordBatch(
        records,
        base_offset=random.choice((0, 5, 1 << 40)),
        partition_leader_epoch=random.choice((-1, 0, 9)),
        attributes=compression | (0x10 if idempotent and random.random() < 0.5 else 0),
        base_timestamp=random.choice((7, 1_700_000_000_000)),
        producer_id=random.randrange(1 << 40) if idempotent else -1,
        producer_epoch=random.randrange(1 << 15) if idempotent else -1,
        base_sequence=random.choice((0, 7, (1 << 31) - 2)) if idempotent else -1,
    )


def as_java_prints(batch: RecordBatch) -> str:
    """Return the output of `Records.java` for this batch if it reads exactly what we wrote."""
    header = read_header(batch.encode())
    kind = "LogAppendTime" if batch.is_log_append_time else "CreateTime"
    flags = [str(flag).lower() for flag in (batch.is_transactional, batch.is_control)]
    words = [
        *(header.base_offset, header.last_offset, header.partition_leader_epoch),
        *(header.producer_id, header.producer_epoch, header.base_sequence, header.last_sequence),
        *(header.max_timestamp, kind, batch.compression.name.lower(), *flags),
    ]
    parts = [" ".join(map(str, words))]
    for offset, record in batch.offsets():
        key, value = ("null" if part is None else part.hex() for part in (record.key, record.value))
        words = [offset, batch.timestamp_of(record), key, value]
        for name, held in record.headers:
            raw = name if isinstance(name, bytes) else name.encode()
            words.append(f"{raw.hex()}={'null' if held is None else held.hex()}")
        parts.append(" ".join(map(str, words)))
    return " | ".join(parts)


def sent_batches() -> list[RecordBatch]:
    """Return batches of every compression, transaction markers, and one without timestamps."""
    random = Random("records oracle")
    drawn = [drawn_batch(random, codec) for codec in Compression for _ in range(BATCHES_PER_CODEC)]
    markers = [
        end_txn_marker(kind, producer_id=7, producer_epoch=1, timestamp_ms=5)
        for kind in (ControlRecordType.COMMIT, ControlRecordType.ABORT)
    ]
    return [*drawn, *markers, RecordBatch([Record(b"x")])]


def wrong_batches() -> dict[str, bytes]:
    """Return batches that are wrong in one place."""
    records = [Record(b"a"), Record(b"b", headers=[("h", None)])]
    raw = RecordBatch(records, base_timestamp=0).encode()
    return {
        "a wrong CRC": patched(raw, crc=1),
        "more records than there are": patched(raw, records_count=3),
        "fewer records than there are": patched(raw, records_count=1),
        "a record of negative size": patched(raw[:61] + b"\x01" + raw[62:]),
    }


@pytest.fixture(scope="module")
def java_says() -> dict[bytes, str]:
    """Return Java's answer to each batch of this module; one JVM for all."""
    lines = [batch.encode() for batch in sent_batches()] + list(wrong_batches().values())
    answers = java_oracle.run("Records.java", "4.3.1", [line.hex() for line in lines])
    return dict(zip(lines, answers, strict=True))


def test_java_reads_our_batches_and_we_read_the_batches_it_makes_of_them(
    java_says: dict[bytes, str],
) -> None:
    for batch in sent_batches():
        printed, _, rebuilt = java_says[batch.encode()].partition("\t")
        assert printed == as_java_prints(batch)
        theirs, end = RecordBatch.decode(bytes.fromhex(rebuilt))
        assert end == len(rebuilt) // 2
        # Java counts timestamps from the first record's, so only absolute ones can be compared.
        assert as_java_prints(theirs) == printed
        if batch.compression is Compression.NONE and not batch.records[0].timestamp_delta:
            assert bytes.fromhex(rebuilt) == batch.encode()
    assert as_java_prints(RecordBatch([Record(b"x")])).endswith(f"| 0 {NO_TIMESTAMP} null 78")


def test_java_refuses_what_we_refuse(java_says: dict[bytes, str]) -> None:
    for name, batch in wrong_batches().items():
        assert java_says[batch].startswith("error: "), name
        try:
            RecordBatch.decode(batch)
        except CorruptRecord:
            continue
        pytest.fail(f"we accept {name}")
