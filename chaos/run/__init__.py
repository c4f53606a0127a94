"""A run from start to finish: its phases, its processes, and the check that its parts fit
together."""
