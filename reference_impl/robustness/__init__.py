"""Robustness tests of a broker from outside: fuzz, random kills, hostile clients; each with a seed.

`process.py` runs a broker as a process and sends hand-made bytes to it.
"""
