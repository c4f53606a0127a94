"""Faults performed on the nodes of a cluster: one table of performers in each file."""
