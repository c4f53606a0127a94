"""Producers that are broken."""
