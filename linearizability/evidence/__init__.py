"""Collect what a history shows of transactions, epochs, groups and offsets, for the checkers."""
