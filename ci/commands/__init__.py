"""The commands of `touchstone`, by subject; ci.cli puts them together.

Each imports what it needs when it runs, so that `--help` and a wrong option cost nothing.
"""
