"""The checkers: what each is, and the table of all."""
