"""The session of an examination: the hooks and fixtures of pytest, and what ends it early."""
