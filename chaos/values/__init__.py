"""The values that all parts of chaos share: faults, operations, and the Protocols between the
parts."""
