"""One run from start to finish: its phases, its processes, and who may run with whom."""
