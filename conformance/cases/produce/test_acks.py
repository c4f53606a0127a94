"""Produce, field Acks: what the producer waits for."""

from __future__ import annotations

import pytest

from conformance.case import case, expect
from conformance.wire import Wire, batch
from reference_impl.wire import ErrorCode


@pytest.mark.parametrize("acks", [2, -2, 32767], ids="acks={}".format)
@case("PROD-05", "Produce", versions=(3, 13), spec="ProduceRequest.json, field Acks")
def test_acks_other_than_minus1_0_1_are_refused(wire: Wire, version: int, acks: int) -> None:
    """The answer carries INVALID_REQUIRED_ACKS (21) and base offset -1; nothing is appended."""
    topic = wire.create_topic()
    answer = wire.produce(topic, batch(b"a").encode(), version, acks=acks)
    expect(answer.error_code, ErrorCode.INVALID_REQUIRED_ACKS, "error")
    expect(answer.base_offset, -1, "base offset")
    expect(wire.values(topic), [], "records of the partition")
