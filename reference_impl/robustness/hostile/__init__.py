"""Hostile clients of a broker, and their effect on a well-behaved client in another process.

`attacks.py` are the clients, `witness.py` is the client that must not notice them. The tests here
hold the reference to its bounds, `touchstone fuzz` runs the same attacks among others, and `make
bench BENCH=hostile` puts Apache Kafka beside it.
"""
