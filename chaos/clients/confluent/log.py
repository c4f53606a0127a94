"""Keep the log messages of librdkafka, counted by message; a run without success reports the most
frequent."""

from __future__ import annotations

import logging
import re

from chaos.record.frequent_lines import FrequentLines

LEVEL = 4
"""The level of librdkafka's log from which messages are kept: warnings, which are rare, and more
serious ones."""
_THREAD = re.compile(r"^.*?\[thrd:[^\]]*\]: ")


class KeptLog(logging.Handler):
    """The messages of all clients of one cluster."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = FrequentLines()

    def emit(self, record: logging.LogRecord) -> None:
        """Count a message."""
        self._lines.add(_THREAD.sub("", record.getMessage()))

    def most_frequent(self, number: int) -> list[tuple[str, int]]:
        """Return messages, each with how often it was logged, the most frequent first."""
        return self._lines.most_frequent(number)


_KEPT: dict[str, KeptLog] = {}


def kept_log(bootstrap: str) -> KeptLog:
    """Return the log of the clients of this cluster."""
    return _KEPT.setdefault(bootstrap, KeptLog())


def logger_for(bootstrap: str) -> logging.Logger:
    """Return the logger for a client of this cluster. It prints nothing: librdkafka would, in the
    middle of the progress line."""
    logger = logging.Logger("librdkafka", logging.WARNING)
    logger.addHandler(kept_log(bootstrap))
    return logger
