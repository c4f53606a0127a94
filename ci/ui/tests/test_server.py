"""The local server: what it serves, what it refuses, and that it only reads."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ci.errors import UsageError
from ci.ui import write_static
from ci.ui.server import ADDRESS, Server
from ci.ui.tests.stored import examinations, store, three_models


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide runs beside a file that is none of them; one run has no report, one no history."""
    home = tmp_path_factory.mktemp("home")
    (home / "secret.txt").write_text("secret")
    models = three_models(home / "models")
    folder = home / "runs"
    store(folder, models, "valid", 1)
    (store(folder, models, "invalid", 2) / "report.html").unlink()
    broken = store(folder, models, "valid", 3)
    for file in ("report.html", "run.json"):
        (broken / file).unlink()
    (broken / "run.json").write_text("{")
    (folder / "out").symlink_to(home / "secret.txt")
    examinations(folder)
    return folder


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[Server]:
    with Server(runs, 0) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield served
        served.shutdown()


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[int, str, str]:
    """Return (status, type, body) of what the server answers."""
    connection = http.client.HTTPConnection(ADDRESS, server.server_address[1], timeout=60)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, answer.headers["Content-Type"] or "", body


def named(runs: Path, word: str) -> str:
    return next(run.name for run in runs.iterdir() if word in run.name)


def test_the_page_lists_the_runs_and_a_new_one_appears(server: Server, runs: Path) -> None:
    status, kind, body = ask(server, "/")
    assert (status, kind) == (200, "text/html; charset=utf-8")
    assert named(runs, "T020000Z") in body
    assert "run.json cannot be read" in body


def test_a_report_that_is_missing_is_drawn(server: Server, runs: Path) -> None:
    run = named(runs, "T030000Z")
    assert not (runs / run / "report.html").exists()
    status, _, body = ask(server, f"/{run}/report.html")
    assert status == 200
    assert "lost_writes" in body
    assert (runs / run / "report.html").exists()


def test_logs_and_results_are_shown_as_text(server: Server, runs: Path) -> None:
    run = named(runs, "T020000Z")
    assert ask(server, f"/{run}/nodes/1/node.log")[:2] == (200, "text/plain; charset=utf-8")
    assert ask(server, "/reference.json")[:2] == (200, "application/json")
    assert ask(server, "/badges/conformance-kfake.svg")[:2] == (200, "image/svg+xml")


def test_a_report_that_cannot_be_drawn_is_told_in_a_sentence(server: Server, runs: Path) -> None:
    status, kind, body = ask(server, f"/{named(runs, 'T040000Z')}/report.html")
    assert (status, kind) == (404, "text/plain; charset=utf-8")
    assert "run.json cannot be read" in body
    assert "Traceback" not in body


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/%2e%2e/secret.txt", "/out", "//secret.txt", "/x%00y", "/nothing"]
)
def test_nothing_else_is_served(server: Server, path: str) -> None:
    status, _, body = ask(server, path)
    assert status == 404
    assert body != "secret"


def test_a_page_elsewhere_cannot_read_it_under_another_name(server: Server) -> None:
    assert ask(server, "/", Host="evil.example:80")[0] == 403
    assert ask(server, "/", Host=f"localhost:{server.server_address[1]}")[0] == 200


def test_it_only_reads(server: Server) -> None:
    assert ask(server, "/", "POST")[0] == 501
    assert ask(server, "/", "DELETE")[0] == 501
    assert ask(server, "/", "HEAD")[2] == ""


def test_a_port_in_use_and_one_that_is_none_are_refused(server: Server, runs: Path) -> None:
    with pytest.raises(UsageError, match="Address already in use; name another, or 0"):
        Server(runs, int(server.server_address[1]))
    with pytest.raises(UsageError, match="give a number from 0 to 65535"):
        Server(runs, 70_000)


def test_static_files_elsewhere_bring_their_reports_and_logs(runs: Path, tmp_path: Path) -> None:
    page = write_static(runs, tmp_path / "site")
    run = named(runs, "T020000Z")
    assert (tmp_path / "site" / run / "report.html").is_file()
    assert (tmp_path / "site" / run / "nodes/1/node.log").is_file()
    assert (tmp_path / "site" / "badges" / "conformance-kfake.svg").is_file()
    assert "127.0.0.1" not in page.read_text()
