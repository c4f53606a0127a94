"""Measure a run for reports: availability, backlog, throughput and latency. None is a verdict."""
