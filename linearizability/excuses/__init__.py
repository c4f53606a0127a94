"""Withdraw verdicts that a fault may explain. Each excuse has a bound in time."""
