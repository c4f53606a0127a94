"""Simulate a run in virtual time."""
