"""Apache Kafka's own clients, in one Java process with which we exchange lines of JSON."""
