"""The producer and the consumer as an application awaits them."""
