"""Define the errors of the judges apart from the judges, so that a program can catch them cheaply.

Importing `linearizability.history` imports polars and pyarrow; a command line that only has to
explain an error must not need them.
"""


class HistoryError(ValueError):
    """The file is not a history; the message names file, column and row, and what to do."""
