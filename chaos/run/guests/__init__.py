"""Runs on a cluster that others use as well."""
