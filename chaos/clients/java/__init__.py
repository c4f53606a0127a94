"""Apache Kafka's own clients, in one Java process that is spoken to by lines of JSON."""
