"""Faults of packets, by a network namespace for each node, joined by a bridge (needs root).

namespaces.py makes and removes them; links.py performs faults on what passes between them: packets
are dropped one way or lost by chance, and connections that hung come back by themselves after a
heal. What proxies do to bytes (narrow, reset, cut short, held back until their sender is dead) has
no counterpart in packets: that is for `--network proxy`.
"""
