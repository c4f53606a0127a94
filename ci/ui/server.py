"""Serve the page of runs on 127.0.0.1 only. It accepts only GET and HEAD."""

from __future__ import annotations

import threading
import traceback
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from ci.errors import UsageError
from ci.ui.badges import badges_of
from ci.ui.entry import Entry
from ci.ui.index import read_index
from ci.ui.page import page_of
from linearizability.errors import HistoryError

ADDRESS = "127.0.0.1"
TYPES = {".html": "text/html", ".svg": "image/svg+xml", ".json": "application/json"}
AS_TEXT = frozenset({".log", ".md", ".properties", ".txt", ".edn", ".toml", ""})
FILE_BYTES_MAX = 256 << 20


def live_link(entry: Entry) -> str:
    """Return the address at which the server shows a run's report; the server draws a missing one
    when it is opened."""
    return f"{quote(entry.path)}/report.html"


class Server(ThreadingHTTPServer):
    """The HTTP server for the page of one directory of runs. Creating one opens the port: raise
    UsageError if that is impossible."""

    daemon_threads = True

    def __init__(self, runs: Path, port: int) -> None:
        self.runs = runs.resolve()
        self.title = runs.name or str(runs)
        self.drawing = threading.Lock()
        try:
            super().__init__((ADDRESS, port), Handler)
        except OverflowError as error:
            raise UsageError(f"--port {port}: give a number from 0 to 65535") from error
        except OSError as error:
            raise UsageError(
                f"--port {port}: {error.strerror}; name another, or 0 for any"
            ) from error

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_address[1]}/"


class Handler(BaseHTTPRequestHandler):
    """Answer GET and HEAD, without a log."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        try:
            self._answer(*self._content())
        except (UsageError, HistoryError) as error:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", str(error).encode())
        except OSError as error:
            words = f"{error.filename or 'the file'}: {error.strerror}"
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", words.encode())
        except Exception as error:  # the page stays usable, and the terminal shows the rest
            traceback.print_exception(error)
            words = f"{type(error).__name__}: this is a defect of touchstone, please report it"
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain", words.encode())

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log: requests must not clutter the user's terminal."""

    def _content(self) -> tuple[HTTPStatus, str, bytes]:
        """Return (status, content type, body) for the request. Raise UsageError if the server has
        no such page."""
        host = (self.headers.get("Host") or "").rpartition(":")[0]
        if host not in (ADDRESS, "localhost"):  # a foreign name that resolves here
            return HTTPStatus.FORBIDDEN, "text/plain", b"open this page as 127.0.0.1"
        path = unquote(urlsplit(self.path).path).strip("/")
        runs = self.server.runs
        if path in ("", "index.html"):
            page = page_of(read_index(runs), self.server.title, live_link)
            return HTTPStatus.OK, "text/html", page.encode()
        if path.startswith("badges/") and not (runs / path).exists():
            badges = badges_of(read_index(runs))
            if (name := path.removeprefix("badges/")) in badges:
                return HTTPStatus.OK, TYPES[".svg"], badges[name].encode()
        return HTTPStatus.OK, *self._file(runs, path)

    def _file(self, runs: Path, path: str) -> tuple[str, bytes]:
        """Return (content type, body) of a file below the runs, and draw a run's missing report.
        Raise UsageError for a path outside the runs, and for a file that does not exist or is too
        large."""
        if "\0" in path:
            raise UsageError("no such file among these runs")
        file = (runs / path).resolve()
        if not file.is_relative_to(runs):
            raise UsageError(f"{path}: not among these runs")
        if file.name == "report.html" and not file.exists() and file.parent.is_dir():
            # Here alone, since it needs what only the extra `check` installs.
            from ci.report.building import report_run

            with self.server.drawing:
                report_run(file.parent)
        if not file.is_file():
            raise UsageError(f"{path}: no such file among these runs")
        if file.stat().st_size > FILE_BYTES_MAX:
            raise UsageError(f"{file}: too large to be shown here; open it where it lies")
        kind = "text/plain" if file.suffix in AS_TEXT else TYPES.get(file.suffix)
        return kind or "application/octet-stream", file.read_bytes()

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind + "; charset=utf-8" * kind.startswith("text/"))
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the browser has disconnected
