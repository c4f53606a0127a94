"""Cases about what our own brokers must do."""

from touchstone.kit import ErrorCode, Wire, batch, case, expect


@case("EXAMPLE-01", "Produce", versions=(3, 13), spec="ProduceResponse.json, field BaseOffset")
def test_example_plugin_offsets_follow_each_other(wire: Wire, version: int) -> None:
    """The second batch of a partition begins where the first ended."""
    topic = wire.create_topic()
    wire.produce(topic, batch(b"a", b"b").encode(), version, acks=1)
    answer = wire.produce(topic, batch(b"c").encode(), version, acks=1)
    expect((answer.error_code, answer.base_offset), (ErrorCode.NONE, 2), "(error, base offset)")
