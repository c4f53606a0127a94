"""Consumers that are broken."""
