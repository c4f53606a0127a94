"""Values that every part shares: faults, operations, and the Protocols between the parts."""
