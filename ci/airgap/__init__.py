"""Provide Docker on a machine without daemon or registry: a private daemon and locally built
images."""
