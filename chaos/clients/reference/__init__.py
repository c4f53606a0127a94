"""Perform a run's operations with the clients of reference_impl."""
