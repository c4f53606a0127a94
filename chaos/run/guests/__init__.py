"""A run on a cluster that others use, too."""
