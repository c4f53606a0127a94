"""Clusters of somebody else, attacked by the commands that a TOML file gives."""
