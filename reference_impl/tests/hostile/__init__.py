"""What hostile clients do to a broker, as a well-behaved client in another process sees it.

`attacks.py` are the clients, `witness.py` is who must not notice. The tests here hold the reference
to its bounds, `touchstone fuzz` runs the same attacks among others, and `make bench BENCH=hostile`
puts Apache Kafka beside it.
"""
