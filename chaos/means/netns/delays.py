"""Start delayer.py, one process for all namespaces of a cluster, and send it orders."""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

from chaos.means import processes
from chaos.means.links import LinkError
from chaos.means.netns import delayer
from chaos.means.netns.namespaces import Namespaces

ORDER_TIMEOUT_S = 10.0
RETRY_S = 0.01


class Delays:
    """The delays in use. Each has a queue number, which firewall rules name to delay packets."""

    def __init__(self, namespaces: Namespaces, log: Path) -> None:
        """Start the delayer process, with its output in `log`. Raise LinkError if its command
        cannot be run. If the process ends soon after, the first order raises LinkError."""
        self._name = namespaces.prefix + "delayer"
        self._latencies: list[tuple[int, int]] = []
        paths = [namespaces.path(node) for node in namespaces.nodes]
        command: list[str | Path] = [
            sys.executable,
            "-I",
            "-S",
            delayer.__file__,
            self._name,
            *paths,
        ]
        try:
            self._child = processes.start(command, name="delayer", log=log)
        except OSError as error:
            raise LinkError(f"packets cannot be held back: {error}; use --network proxy") from error

    def number_of(self, latency_ms: int, jitter_ms: int) -> int:
        """Return the queue number for packets with this delay, and set the delay up if it is new.
        Raise LinkError if all queues are in use or the delayer does not answer."""
        latency = latency_ms, jitter_ms
        if latency not in self._latencies:
            if len(self._latencies) == delayer.QUEUES:
                raise LinkError(f"no more than {delayer.QUEUES} latencies at once; heal first")
            self._order(f"{len(self._latencies)} {latency_ms} {jitter_ms}")
            self._latencies.append(latency)
        return self._latencies.index(latency)

    def heal(self) -> None:
        """Release the packets that are held back; the packet rules must have been removed before.
        Raise LinkError if the delayer does not answer."""
        if self._latencies:
            self._order("heal")
            self._latencies.clear()

    def stop(self) -> None:
        """Kill the delayer. Call this before the namespaces are removed: it keeps them in use."""
        self._child.kill()

    def _order(self, text: str) -> None:
        """Send the delayer an order and wait for "ok". The delayer is ready within milliseconds of
        the cluster's start, long before the first fault. Raise LinkError if it does not answer in
        time."""
        deadline = time.monotonic() + ORDER_TIMEOUT_S
        while time.monotonic() < deadline and self._child.running:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
                ours.bind("")  # the kernel chooses a name, to which the answer is sent
                ours.settimeout(ORDER_TIMEOUT_S)
                try:
                    ours.connect(f"\0{self._name}")
                    ours.send(text.encode())
                    ours.recv(delayer.ORDER_BYTES)
                except ConnectionRefusedError:
                    time.sleep(RETRY_S)
                    continue
                except OSError as error:
                    raise LinkError(
                        f"packets cannot be held back: {error}; use --network proxy"
                    ) from error
            return
        raise LinkError(
            "packets cannot be held back here (NFQUEUE of the kernel; Python's ctypes):"
            f" {self._child.last_words(1)}; use --network proxy"
        )
