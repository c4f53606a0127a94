"""Collect what was read: whole partitions, raw logs, the way of each reader, and its pauses."""
