"""Cycles of transactions: what each partition tells of who read whom, and the search in the whole.

`evidence`: rows, partition by partition, and how the transactions ended. `graph`: components and
shortest cycles. The property itself is `checkers/write_cycles.py`.
"""
