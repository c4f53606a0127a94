"""Collect what readers received: whole partitions, raw logs, the path of each reader, and its
pauses."""
