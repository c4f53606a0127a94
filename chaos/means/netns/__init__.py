"""Faults of packets, by a network namespace for each node, joined by a bridge (needs root).

namespaces.py makes and removes them; links.py performs faults on what passes between them.
"""
