"""Kill the broker, or a random one of several nodes, with `kill -9` at random moments under load:
nothing acknowledged may be lost, and nothing stored twice.

Clients that know exactly which responses they got (`appender.py`, `transactions.py`, `member.py`)
work while the broker is killed at random moments, also during its start (`run.py`). Requests
without a response are repeated after the restart or, of several nodes, to the next leader
(`routes.py`). `touchstone kills` runs it with a seed.
"""
