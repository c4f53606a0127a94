"""The examination: a protocol conformance suite for any Kafka-compatible address."""
