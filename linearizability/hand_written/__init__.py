"""Histories written by hand, and the rows that they are made of."""
