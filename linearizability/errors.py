"""The errors of the judges, defined apart from them so that a program can catch them without
importing polars.

Importing `linearizability.history` imports polars and pyarrow; a command line that only has to
explain an error must not need them.
"""


class HistoryError(ValueError):
    """The file is not a valid history. The message names file, column and row, and what to do."""
