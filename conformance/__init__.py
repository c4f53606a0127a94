"""The protocol conformance suite, for any Kafka-compatible address."""
