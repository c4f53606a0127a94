"""Make packet faults: each node has its own network namespace, and a bridge joins the namespaces
(needs root).

namespaces.py makes and removes them; links.py performs faults on what passes between them: packets
are dropped one way or lost by chance, and connections that hung recover by themselves after a heal.
Faults that need a proxy (narrow links, resets, connections cut short, bytes held back until their
sender is dead) are possible only with `--network proxy`.
"""
