"""Run the pipelines: command line, demo, reports, checks. This package imports all others, and no
other imports it."""
