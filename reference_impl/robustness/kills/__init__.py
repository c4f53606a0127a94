"""Random `kill -9` under load, seeded: nothing acknowledged is lost, nothing happens twice.

Clients that know exactly what they were told (`appender.py`, `transactions.py`, `member.py`) work
while the broker is killed at random moments, also while it starts (`run.py`); what they could not
be told they ask again after the restart. `touchstone kills` runs it.
"""
