"""The pytest session of a conformance run: hooks, fixtures, and what ends it early."""
