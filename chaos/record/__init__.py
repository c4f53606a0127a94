"""Record a run: its history, the rows of the history, and the run directory."""
