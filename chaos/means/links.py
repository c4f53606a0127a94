"""Links that can be cut: one toxiproxy server per cluster, one proxy per directed link.

A link is a value: its name, the address at which it listens, and the address to which it leads. It
is cut by `blackhole` (bytes vanish, connections hang; new ones are accepted and hang too) or
`refuse` (connections end, new ones are refused), made worse by a `Toxic`, and well again by `heal`.
On heal toxiproxy closes the connections that a blackhole stalled: their bytes are lost, never
delivered late.

The PyPI client toxiproxy-python speaks to one server per interpreter (class-global host and port),
without time-outs, and cannot change a toxic: this adapter adds these, and is its only user.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from chaos.means import processes
from chaos.means.caches import executable
from chaos.means.ports import is_free
from chaos.values.faults import How
from chaos.world import Address, joined

API_TIMEOUT_S = 10.0
HEAL_TIMEOUT_S = 3.0
"""The seconds for which a heal waits for toxiproxy. It needs milliseconds unless it hangs, and
while it hangs the fault would continue."""
START_TIMEOUT_S = 20.0
_NO_HTTP_PROXY = {"http": "", "https": ""}  # the API is on loopback, whatever the environment says
_client_lock = threading.Lock()

Starter = Callable[[], processes.Process]


class LinkError(RuntimeError):
    """Raised if the means for faults of links (toxiproxy, network namespaces) cannot be started, or
    refuse a request."""


@dataclass(frozen=True)
class Toxic:
    """A disturbance of a link's connections by toxiproxy. Its README describes kinds and
    attributes.

    share: the part of the connections that is affected, chosen at random. A stream can have one
    toxic of each name.
    """

    name: str
    kind: str
    attributes: Mapping[str, int]
    streams: tuple[str, ...] = ("upstream", "downstream")
    share: float = 1.0


BLACKHOLE = Toxic("blackhole", "timeout", {"timeout": 0})  # 0: the connection never closes


@dataclass(frozen=True)
class Link:
    """One directed link: connections to the address `listen` are forwarded to the address
    `upstream`."""

    name: str
    listen: Address
    upstream: Address


def toxiproxy_server() -> Path:
    """Return the path of the toxiproxy server that set-up built. Raise LinkError, with the command
    that builds it, if it is missing."""
    path = executable("toxiproxy-server")
    if path is None:
        raise LinkError("toxiproxy-server is not built, so no link can be cut; run `make setup`")
    return path


class Links:
    """A running toxiproxy server and its proxies. Its user (LocalCluster) serializes the faults."""

    def __init__(
        self, api: Address, child: processes.Process, again: Starter | None = None
    ) -> None:
        self._api = api
        self._child = child
        self._again = again
        self._links: dict[str, Link] = {}
        self._troubled: set[str] = set()
        self._toxics: set[tuple[str, str]] = set()

    @classmethod
    def start(cls, api: Address, log: Path) -> Self:
        """Start a server, with its output in `log`. Raise LinkError if its port is taken, toxiproxy
        is not built, or it does not listen within START_TIMEOUT_S."""
        if not is_free(*api):  # toxiproxy does not end when it cannot bind
            raise LinkError(
                f"toxiproxy cannot listen at {joined(api)}: the address is in use; stop what uses"
                " it"
            )
        command: list[str | Path] = [toxiproxy_server(), "-host", api[0], "-port", str(api[1])]
        again = partial(processes.start, command, name="toxiproxy", log=log)
        return cls.attached(api, again(), again)

    @classmethod
    def attached(cls, api: Address, child: processes.Process, again: Starter | None = None) -> Self:
        """Return the links of a server that was just started, once it listens. Raise LinkError, and
        end the server, if it does not within START_TIMEOUT_S.

        again: starts another server at the same address; without it, `heal` cannot replace a server
        that hangs.
        """
        links = cls(api, child, again)
        try:
            links._wait_until_it_listens()
        except BaseException:
            child.end()
            raise
        return links

    def add(self, links: Iterable[Link]) -> None:
        """Open a proxy for each of these links. Raise LinkError if the server refuses one or does
        not answer; the links before it stay open."""
        for link in links:
            body = {
                "name": link.name,
                "listen": joined(link.listen),
                "upstream": joined(link.upstream),
                "enabled": True,
            }
            self._call("post", "/proxies", body)
            self._links[link.name] = link

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._links)

    def link(self, name: str) -> Link:
        """Return one link by its name. Raise KeyError if it was never added."""
        return self._links[name]

    def is_troubled(self, name: str) -> bool:
        """Return whether a fault was put on this link, or was attempted, since the last successful
        `heal`."""
        return name in self._troubled

    def cut(self, name: str, how: How) -> None:
        """Cut one link in the way that `how` names: blackhole or refuse. Raise LinkError if the
        server refuses or does not answer."""
        self._troubled.add(name)
        if how == "refuse":
            self._call("post", f"/proxies/{name}", {"enabled": False})
            return
        self.poison(name, BLACKHOLE)

    def delay_answers(self, name: str, latency_ms: int, jitter_ms: int) -> None:
        """Delay the bytes that come back on one link by latency ± jitter, in order. Raise LinkError
        if the server refuses or does not answer."""
        attributes = {"latency": latency_ms, "jitter": jitter_ms}
        self.poison(name, Toxic("delay", "latency", attributes, ("downstream",)))

    def poison(self, name: str, toxic: Toxic) -> None:
        """Put a toxic on one link, or replace the one of the same name. Raise LinkError if the
        server refuses or does not answer."""
        self._troubled.add(name)
        for stream in toxic.streams:
            self._set_toxic(name, stream, toxic)

    def drop_packets(self, source: int, to: int) -> None:
        """Raise LinkError: a proxy passes on bytes and not packets, so it cannot drop any."""
        raise LinkError("proxies see no packets; use --network netns")

    def lose_packets(self, node: int, percent: int) -> None:
        """Raise LinkError: a proxy passes on bytes and not packets, so it cannot lose any."""
        raise LinkError("proxies see no packets; use --network netns")

    def settle(self) -> None:
        """Do nothing: the faults of toxiproxy take effect as soon as they are asked for."""

    def heal(self) -> str:
        """Remove every cut and toxic. Replace a server that hangs or has died, and return a
        sentence about that, or "". Raise LinkError if it cannot be replaced."""
        note = ""
        try:
            self._call("post", "/reset", timeout_s=HEAL_TIMEOUT_S)
        except LinkError:
            if self._again is None:
                raise
            note = f"toxiproxy {'hung' if self._child.running else 'had died'}, and was replaced"
            self._replace_server(self._again)
        self._troubled.clear()
        self._toxics.clear()
        return note

    def _replace_server(self, again: Starter) -> None:
        """Kill the server, start another and open its proxies again, without toxics. Toxiproxy
        waits for ever when it removes a toxic from a connection whose other end is gone, and
        answers nothing meanwhile (its issue 558). Its connections end with it, and the bytes in
        them are lost, never delivered late."""
        self._child.kill()
        self._child = again()
        self._wait_until_it_listens()
        self.add(list(self._links.values()))

    def toxics(self, name: str) -> list[dict[str, Any]]:
        """Return the toxics of one link, as the server reports them. Raise LinkError if the server
        does not know the link or does not answer."""
        answer: list[dict[str, Any]] = self._call("get", f"/proxies/{name}/toxics")
        return answer

    def stop(self) -> None:
        self._again = None
        self._child.end()

    def _set_toxic(self, link: str, stream: str, toxic: Toxic) -> None:
        name = f"{toxic.name}-{stream}"
        path = f"/proxies/{link}/toxics"
        body = {"attributes": dict(toxic.attributes), "toxicity": toxic.share}
        if (link, name) in self._toxics:
            self._call("post", f"{path}/{name}", body)
            return
        self._call("post", path, {"name": name, "type": toxic.kind, "stream": stream, **body})
        self._toxics.add((link, name))

    def _call(
        self,
        verb: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        timeout_s: float = API_TIMEOUT_S,
    ) -> Any:
        """Send one HTTP request to the server. Return its answer, decoded from JSON, or None if
        that is empty. The client library keeps host and port in the class, so only one thread may
        use it at a time. Raise LinkError if the server does not answer, or answers with a status of
        400 or more."""
        from toxiproxy.api import APIConsumer  # in the extra [chaos], which conform does not need

        with _client_lock:
            APIConsumer.host, APIConsumer.port = self._api
            options: dict[str, Any] = {"timeout": timeout_s, "proxies": _NO_HTTP_PROXY}
            if body is not None:
                options["json"] = body
            try:
                response = getattr(APIConsumer, verb)(path, **options)
            except Exception as error:  # the client raises bare Exception subclasses
                raise self._failed(verb, path, error) from error
        if response.status_code >= 400:
            raise self._failed(verb, path, response.text)
        return response.json() if response.content else None

    def _failed(self, verb: str, path: str, why: object) -> LinkError:
        return LinkError(f"toxiproxy at {joined(self._api)}: {verb} {path}: {why}")

    def _wait_until_it_listens(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if not self._child.running:
                break
            if self._is_up():
                return
            time.sleep(0.05)
        last_words = self._child.last_words()
        raise LinkError(
            f"toxiproxy does not start at {joined(self._api)}: {last_words or 'it said nothing'};"
            " see `touchstone doctor`"
        )

    def _is_up(self) -> bool:
        try:
            with socket.create_connection(self._api, timeout=1):
                pass
            self._call("get", "/version")
        except (OSError, LinkError):
            return False
        return self._child.running
