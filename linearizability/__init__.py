"""The judges: histories in, verdicts out. A leaf: imports nothing of the rest of the project."""
