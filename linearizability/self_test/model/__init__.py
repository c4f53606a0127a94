"""The small exact model of Kafka: its partitions, the actors on its stage, and what they write."""
