"""Clusters that Touchstone did not create, attacked by commands that a TOML file gives."""
