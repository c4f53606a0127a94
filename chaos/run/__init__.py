"""One run from start to finish: its phases, its processes, and the combinations that can run."""
