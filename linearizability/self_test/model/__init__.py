"""The small exact model of Kafka: its partitions, its actors (clients and coordinators), and the
rows that they write."""
