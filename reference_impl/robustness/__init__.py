"""Trials of a broker from outside: fuzz, random kills, hostile clients; each of them is seeded.

`process.py` runs a broker as a process and talks to it with hand-made bytes.
"""
