"""Kafka Streams, Connect and MirrorMaker 2 against the broker, and against Apache Kafka."""
