"""A Kafka broker written to be read: wire codec, sans-I/O core, and the one asyncio host."""
