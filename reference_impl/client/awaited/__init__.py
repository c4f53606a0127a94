"""The producer and the consumer with methods that an application awaits."""
