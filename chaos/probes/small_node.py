"""A small node that only opens and answers connections: three of them serve to prove link faults.

`python small_node.py HOST:PORT …` listens at each address and answers lines:

    PING                      PONG
    DIAL HOST PORT SECONDS    connects there, sends PING, and reports: "answered MS" with the
                              milliseconds that took, "refused" or "silent"
    SEND HOST PORT SECONDS N  the same, with N bytes before the PING

It runs without the rest of the project, so that it starts as fast as Python, in any network
namespace.
"""

from __future__ import annotations

import socket
import sys
import threading
import time

PING, PONG = b"PING", b"PONG"


def dial(host: str, port: int, seconds: float, filling: bytes = b"") -> str:
    """Connect to an address and send `filling` and a PING. Return "answered MS" with the
    milliseconds until the PONG, "refused" (also if the connection ends without one), or "silent"
    after `seconds`."""
    began = time.monotonic()
    try:
        with socket.create_connection((host, port), timeout=seconds) as connection:
            connection.sendall(filling + b"\n" + PING + b"\n")
            reader = connection.makefile("rb")
            for line in reader:
                if line.strip() == PONG:
                    return f"answered {(time.monotonic() - began) * 1000:.0f}"
            return "refused"
    except TimeoutError:
        return "silent"
    except OSError:
        return "refused"


def answer(line: bytes) -> bytes:
    """Return the response to one line; a line that is no command is filling and gets none."""
    words = line.decode("ascii", "replace").split()
    if words[:1] == ["PING"]:
        return PONG + b"\n"
    if words[:1] in (["DIAL"], ["SEND"]):
        filling = b"x" * int(words[4]) if words[0] == "SEND" else b""
        return dial(words[1], int(words[2]), float(words[3]), filling).encode() + b"\n"
    return b""


def serve(connection: socket.socket) -> None:
    with connection:
        try:
            for line in connection.makefile("rb"):
                connection.sendall(answer(line))
        except OSError:
            return


def listen(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def main(addresses: list[str]) -> None:
    for text in addresses:
        host, _, port = text.rpartition(":")
        listener = socket.create_server((host, int(port)))
        threading.Thread(target=listen, args=(listener,), daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1:])
