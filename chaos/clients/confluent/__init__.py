"""The clients of confluent-kafka, which wraps librdkafka."""
