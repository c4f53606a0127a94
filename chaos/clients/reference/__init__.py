"""The clients of reference_impl."""
