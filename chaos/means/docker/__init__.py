"""Containers of this machine's Docker daemon."""
