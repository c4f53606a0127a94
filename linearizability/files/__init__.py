"""Read files completely, refuse invalid rows, and explain why a file cannot be read."""
