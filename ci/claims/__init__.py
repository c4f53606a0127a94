"""Compare the claims of published documents about Kafka with the results of examinations
(`touchstone claims`)."""
