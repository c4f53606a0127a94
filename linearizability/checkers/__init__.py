"""The checkers: their base class, and the table of all."""
