"""Keep and count librdkafka's log messages; a run in which nothing succeeds reports the most
frequent ones."""

from __future__ import annotations

import logging
import re

from chaos.record.frequent_lines import FrequentLines

LEVEL = 4
"""The level of librdkafka's log from which messages are kept: warnings, which are rare, and more
serious ones."""
_THREAD = re.compile(r"^.*?\[thrd:[^\]]*\]: ")


class KeptLog(logging.Handler):
    """The log messages that all clients of one cluster have written, and how often."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = FrequentLines()

    def emit(self, record: logging.LogRecord) -> None:
        """Count a log message, without the prefix that names the librdkafka thread."""
        self._lines.add(_THREAD.sub("", record.getMessage()))

    def most_frequent(self, number: int) -> list[tuple[str, int]]:
        """Return the `number` most frequent messages, the most frequent first, each with how often
        it was logged."""
        return self._lines.most_frequent(number)


_KEPT: dict[str, KeptLog] = {}


def kept_log(bootstrap: str) -> KeptLog:
    """Return the log of this process's clients of the cluster with these bootstrap addresses. Begin
    an empty one at the first call."""
    return _KEPT.setdefault(bootstrap, KeptLog())


def logger_for(bootstrap: str) -> logging.Logger:
    """Return the logger for a client of this cluster. It keeps messages and does not print them,
    since librdkafka would print into the progress line."""
    logger = logging.Logger("librdkafka", logging.WARNING)
    logger.addHandler(kept_log(bootstrap))
    return logger
