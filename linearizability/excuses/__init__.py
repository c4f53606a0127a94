"""Withdraw verdicts that a fault may explain. Each excuse is limited in time."""
