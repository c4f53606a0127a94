"""Fuzz the reference broker over TCP, based on the message schemas, while a well-behaved client
works.

Case `n` of a seed is drawn from `Random(f"{seed}:{n}")` and uses one connection or a few: a
conversation of plausible requests, requests with one piece broken, garbage, pipelining, slow
senders, half-closed connections, crowds. `touchstone fuzz` runs them (`run.py`). The requirements
are in `judge.py`, `resources.py` and, for the latency of the other client, `hostile/witness.py`.
"""
