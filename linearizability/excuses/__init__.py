"""Withdraw verdicts that a fault may explain, and say how long each fault may explain anything."""
