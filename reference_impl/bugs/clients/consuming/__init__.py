"""The planted bugs of consumers."""
