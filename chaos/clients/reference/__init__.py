"""The clients of reference_impl, as clients of a run."""
