"""The disk of a simulated node: its medium, and the file system that one process mounts."""
