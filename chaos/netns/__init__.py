"""A network namespace for each node, joined by a bridge: faults of packets (needs root).

namespaces.py makes and removes them; links.py performs faults on what passes between them.
"""
