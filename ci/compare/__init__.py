"""Compare implementations: examine each, and set the results of every case beside each other."""
