"""Schema-aware fuzz of the reference broker: seeded, over TCP, while another client works on.

Every case `n` of a seed is drawn from `Random(f"{seed}:{n}")`, and is one connection or a few: a
conversation of plausible requests, requests with one piece broken, garbage, pipelining, slow
senders, half-closed connections, crowds. `touchstone fuzz` runs them (`run.py`); what must hold is
in `judge.py`, `resources.py` and, for the waits of another client, `hostile/witness.py`.
"""
