"""Bring a fresh machine to a working state: .venv first, then the tools in .cache."""
