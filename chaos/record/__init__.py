"""The record of a run: the history, its rows, and the directory that holds them."""
