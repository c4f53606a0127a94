"""Test whether the judges judge rightly, with valid histories from a small exact model, and
functions that break them."""
