"""Report conformance results: JSON, JUnit, the evidence of each failure, and lists of cases."""
