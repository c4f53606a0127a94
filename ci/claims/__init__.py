"""Hold the claims of published documents about Kafka against the results of examinations."""
