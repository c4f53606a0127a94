"""Attack a broker with hostile clients, and measure the effect on a well-behaved client in another
process.

`attacks.py` has the hostile clients, `witness.py` the well-behaved one. The tests here compare the
reference broker's latencies with limits, `touchstone fuzz` includes the same attacks, and `make
bench BENCH=hostile` compares it with Apache Kafka.
"""
