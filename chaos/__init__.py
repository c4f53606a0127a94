"""Attack a running target with workloads and faults, and record what the clients observe."""
