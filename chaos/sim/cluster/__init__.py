"""The nodes of a simulated cluster, and the faults on them."""
