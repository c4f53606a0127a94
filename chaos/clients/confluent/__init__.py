"""The client of librdkafka, by confluent-kafka."""
