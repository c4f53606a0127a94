"""Cycles of transactions: find, partition by partition, which transaction read from which, and
search the whole graph.

`evidence`: rows, partition by partition, and how the transactions ended. `graph`: components and
shortest cycles. The property itself is `guarantees/write_cycles/rule.py`.
"""
