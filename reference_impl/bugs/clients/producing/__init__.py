"""The planted bugs of producers."""
