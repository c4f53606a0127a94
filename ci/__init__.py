"""The pipelines: command line, demo, reports, checks. The composition root: nobody imports it."""
