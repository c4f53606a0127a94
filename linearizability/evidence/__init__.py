"""Collect evidence about transactions, epochs, groups and offsets from a history, for the
checkers."""
