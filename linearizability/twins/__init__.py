"""Shared parts of the dumb twins, which judge each guarantee again without its kernel."""
