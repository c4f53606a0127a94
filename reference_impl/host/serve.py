"""`touchstone serve`: run the reference broker until a signal ends it.

It prints exactly one line on standard output, `ready host:port`, once it accepts requests there
(the address that clients are given may differ: advertised.listeners). With --nodes 3 each node runs
in a process of its own, and the line names the addresses of all. Nodes talk to each other in plain
text, or by TLS and SASL if security.inter.broker.protocol or inter.broker.listener.name, and
listener.security.protocol.map for CONTROLLER, say so. Everything else goes to standard error. Exit
status: 0 after a clean stop, 2 if it could not start, 1 if it had to give up.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import logging
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import uuid4

from reference_impl.bugs.cluster import BROKER_BUGS
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.controller.features import UnsupportedLevel
from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.log.directories.checkpoints import BadCheckpoint
from reference_impl.core.log.directories.data_directory import (
    DataDirectory,
    WrongDirectory,
    uuid_text,
)
from reference_impl.core.node import Node
from reference_impl.core.quorum.snapshots.formatting import (
    first_voter,
    format_voters,
    initial_voters,
)
from reference_impl.core.quorum.voters.voter_set import voters_of
from reference_impl.core.rules import Rules
from reference_impl.core.security.listeners import Endpoint, Listener
from reference_impl.core.storage import StorageError
from reference_impl.host import cluster
from reference_impl.host.disk import Disk
from reference_impl.host.lock import DirectoryLock, DirectoryLocked
from reference_impl.host.node import NodeHost
from reference_impl.host.settings import properties, resolver
from reference_impl.host.settings.plan import (
    DEFAULT_PORT,
    Plan,
    Surroundings,
    check_bug,
    check_cluster_id,
    check_port,
    chosen_directory,
    make_plan,
    parse_pairs,
)
from reference_impl.host.settings.process import event_loop, keep_freed_memory
from reference_impl.host.tcp.server import Server
from reference_impl.host.tcp.tls import server_context
from reference_impl.wire import Malformed

FAILED, USAGE = 1, 2
LEAVE_S = 20.0
"""The longest time that a node waits until others lead its partitions."""
CANNOT_START = (
    BadConfig,
    BadCheckpoint,
    CorruptLog,
    DirectoryLocked,
    Malformed,
    OSError,
    StorageError,
    UnsupportedLevel,
    WrongDirectory,
)
ADVICE: dict[type[Exception], str] = {
    BadCheckpoint: "; delete this file, and the broker rebuilds it from the logs",
    CorruptLog: "; nothing was changed: bring the file back from a copy, or move its directory"
    " away to start without what it holds",
}
"""The advice to add if the sentence only says what is wrong."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serve`."""
    parser.add_argument(
        "--nodes", type=int, default=1, metavar="N", help="how many brokers (default: 1)"
    )
    parser.add_argument(
        "--controllers",
        type=int,
        metavar="N",
        help="how many of them are controllers, too (default: all, but at most 3)",
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="PORT",
        help="client port (default: 9092; 0 takes a free one); several nodes take the next ones,"
        " too",
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="data directory (default: log.dirs, else a temporary one, named on stderr)",
    )
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a broker configuration by Kafka's own name; repeatable",
    )
    parser.add_argument(
        "--config-file",
        type=Path,
        metavar="FILE",
        help="settings in the format of server.properties; --config overrides it",
    )
    parser.add_argument(
        "--cluster-id",
        metavar="ID",
        help="format a new data directory for this cluster; refuse one of another cluster",
    )
    first = parser.add_mutually_exclusive_group()
    first.add_argument(
        "--standalone",
        dest="first_voters",
        action="store_const",
        const="",
        help="format a new data directory: this node is the first voter; others can be added",
    )
    first.add_argument(
        "--initial-controllers",
        dest="first_voters",
        metavar="ID@HOST:PORT:DIRECTORY,…",
        help="format a new data directory for these first voters; the same on each of them",
    )
    parser.add_argument(
        "--resolver",
        type=Path,
        metavar="FILE",
        help="look up node names in this file (lines of ADDRESS NAME) before asking the system",
    )
    parser.add_argument("--until-closed", type=int, help=argparse.SUPPRESS)
    parser.add_argument(
        "--bug", metavar="NAME", help=f"plant a bug: {', '.join(sorted(BROKER_BUGS))}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status. argv: None for the arguments of the process."""
    parser = argparse.ArgumentParser(prog="touchstone serve", description=__doc__)
    add_arguments(parser)
    arguments = parser.parse_args(argv)
    return run(arguments)


def run(arguments: argparse.Namespace) -> int:
    """Do the work of `main` after the options of `add_arguments` are parsed, and return the exit
    status."""
    try:
        config = properties.read(arguments.config_file) if arguments.config_file else {}
        config |= parse_pairs(arguments.config)
        if arguments.nodes != 1 or arguments.controllers is not None:
            return serve_cluster(arguments, config)
        resolve = resolver.read(arguments.resolver) if arguments.resolver else {}
    except CANNOT_START as error:
        return _refuse(_sentence(error))
    return serve(
        arguments.port,
        arguments.data,
        config,
        arguments.bug,
        Surroundings(arguments.cluster_id, arguments.first_voters, resolve, arguments.until_closed),
    )


def serve_cluster(arguments: argparse.Namespace, config: Mapping[str, str]) -> int:
    """Serve with several nodes until SIGTERM or SIGINT, and return the exit status. Raise one of
    the errors in CANNOT_START."""
    if arguments.resolver is not None:
        raise BadConfig("--resolver is for one node; remove it, or --nodes")
    if arguments.first_voters is not None:
        raise BadConfig(
            "--standalone and --initial-controllers are for one node; remove them, or --nodes"
        )
    check_bug(arguments.bug)
    check_port(arguments.port)
    check_cluster_id(arguments.cluster_id)
    first_port = DEFAULT_PORT if arguments.port is None else arguments.port
    size = cluster.Size(arguments.nodes, arguments.controllers, first_port)
    data = chosen_directory(arguments.data, {})
    status = USAGE
    try:
        settings = cluster.settings_of_nodes(size, data, config)
        options = cluster.options_of_nodes(settings, data, arguments.cluster_id, arguments.bug)
        status = cluster.run(options, data)
    finally:
        if status == USAGE and arguments.data is None:
            shutil.rmtree(data, ignore_errors=True)
    return status


def serve(
    port: int | None = None,
    data: str | None = None,
    config: Mapping[str, str] | None = None,
    bug: str | None = None,
    surroundings: Surroundings | None = None,
) -> int:
    """Log to standard error, serve until SIGTERM or SIGINT, and return the exit status: 0 after a
    clean stop, USAGE if the node could not start, FAILED if it had to give up. An argument that is
    None counts as an option that was not given."""
    keep_freed_memory()
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    surroundings = surroundings or Surroundings()
    plan = None
    try:
        check_cluster_id(surroundings.cluster_id)
        plan = replace(make_plan(port, data, config or {}, bug), surroundings=surroundings)
        with asyncio.Runner(loop_factory=event_loop()) as runner:
            return runner.run(_serve(plan))
    except CANNOT_START as error:
        if plan is not None and plan.is_temporary:
            shutil.rmtree(plan.directory, ignore_errors=True)
        return _refuse(_sentence(error))
    except KeyboardInterrupt:
        return 0


async def _serve(plan: Plan) -> int:
    """Start, serve and stop the node, which gets LEAVE_S after a signal to hand over its
    partitions. Return the exit status: 0, or FAILED if it ended by itself or could not be stopped
    cleanly. Raise one of the errors in CANNOT_START."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[str | None] = loop.create_future()

    def end(failure: str | None) -> None:
        if not ended.done():
            ended.set_result(failure)

    lock = DirectoryLock(plan.directory)
    server = Server(plan.config)
    try:
        # Bind the ports first, since the node advertises them; accept no client before it is up.
        ports = [await _listen(server, listener) for listener in plan.listeners]
        host = NodeHost(make_node(plan, ports), end, plan.surroundings.resolve, plan.directory)
        host.start()

        def leave() -> None:
            if plan.config.membership().is_alone:
                end(None)
            else:
                host.on_stop = partial(end, None)
                host.ask_to_stop()
                loop.call_later(LEAVE_S, end, None)

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, leave)
        if plan.surroundings.until_closed is not None:
            loop.add_reader(plan.surroundings.until_closed, end, None)
        await _open(server, host, plan, ended)
        if not ended.done():
            name = plan.listeners[0].endpoint.host or "localhost"
            print(f"ready {Endpoint(name, ports[0])}", flush=True)
        failure = await ended
        try:
            await server.close()
            if failure is None:
                host.stop()
        except CANNOT_START as error:
            failure = _sentence(error)
        if failure is not None:
            print(f"touchstone serve: {failure}", file=sys.stderr)
            return FAILED
        return 0
    finally:
        lock.release()


async def _open(
    server: Server, host: NodeHost, plan: Plan, ended: asyncio.Future[str | None]
) -> None:
    """Let controllers in at once, clients and other brokers once this broker is unfenced: before,
    the cluster has no place for it (BrokerServer.scala, startup). Return early if the node ends."""
    of_clients = [listener.name for listener in plan.config.listeners()]
    await server.accept(host, later=of_clients)
    if of_clients:
        unfenced = asyncio.get_running_loop().create_future()
        host.when_unfenced(partial(unfenced.set_result, None))
        await asyncio.wait((unfenced, ended), return_when=asyncio.FIRST_COMPLETED)
    if not ended.done():
        server.open(of_clients)


async def _listen(server: Server, listener: Listener) -> int:
    """Listen and return the port. Raise BadConfig if that is not possible."""
    tls = None if listener.tls is None else server_context(listener.name, listener.tls)
    try:
        return await server.listen(listener, tls)
    except OSError as error:
        where = f"{listener.endpoint.host or 'every address'} port {listener.endpoint.port}"
        if error.errno == errno.EADDRINUSE:
            raise BadConfig(
                f"cannot listen on {where}: it is in use; stop whatever listens there, or give"
                " another --port, or 0 for a free one"
            ) from None
        raise BadConfig(
            f"cannot listen on {where}: {error.strerror or error}; give another --port or"
            " --config listeners=PLAINTEXT://host:port"
        ) from None


def make_node(plan: Plan, ports: Sequence[int]) -> Node:
    """Format the plan's data directory if necessary, and create the node on it, correct or with the
    requested planted bug. Raise WrongDirectory or BadConfig as `format_directory` does."""
    advertised = {
        listener.name: _advertised(listener, port)
        for listener, port in zip(plan.listeners, ports, strict=True)
    }
    first = advertised.pop(plan.listeners[0].name)
    format_directory(plan, advertised)
    node_class, rules = (Node, Rules()) if plan.bug is None else BROKER_BUGS[plan.bug].parts()
    return node_class(
        plan.config, Disk(), str(plan.directory), first, rules, also_advertised=advertised
    )


def format_directory(plan: Plan, advertised: Mapping[str, Endpoint]) -> None:
    """Format the data directory for its cluster and its first voters, as far as they are given,
    unless a node has begun there. Raise WrongDirectory if it belongs to another node or cluster,
    BadConfig for first voters that are wrong or could not be found."""
    storage, path, node_id = Disk(), str(plan.directory), plan.config.node_id
    cluster_id, first = plan.surroundings.cluster_id, plan.surroundings.first_voters
    if first is None:
        if cluster_id is not None:
            DataDirectory.format(storage, path, node_id, uuid4, cluster_id)
        return
    listener = plan.config.membership().controller_listener or ""
    if listener not in advertised:
        raise BadConfig(
            f"listeners={plan.config.text('listeners')}: other controllers must find the first"
            f" voters; add {listener or 'CONTROLLER'}://host:port"
        )
    voters = initial_voters(first, listener) if first else {}
    own = voters.get(node_id)
    cluster_id = cluster_id or DataDirectory.cluster_of(storage, path) or uuid_text(uuid4())
    DataDirectory.format(
        storage, path, node_id, uuid4 if own is None else lambda: own.directory_id, cluster_id
    )
    if not voters:
        directory = DataDirectory.open(storage, path, node_id, uuid4, may_format=False)
        where = {listener: advertised[listener]}
        voters = voters_of(first_voter(node_id, directory.directory_id, where))
    format_voters(storage, path, voters, time.time_ns() // 1_000_000)


def _advertised(listener: Listener, port: int) -> Endpoint:
    """Return the address for clients: the configured one, else that of the listener, with this port
    if it has none, and localhost if it has no host."""
    given = listener.advertised or listener.endpoint
    return Endpoint(given.host or "localhost", given.port or port)


def _sentence(error: BaseException) -> str:
    """Return one sentence for an error, including those of the operating system."""
    if isinstance(error, OSError):
        name = error.filename or "the data directory"
        return f"{name}: {error.strerror}; give another directory with --data"
    advice = next((what for kind, what in ADVICE.items() if isinstance(error, kind)), "")
    return f"{error}{advice}"


def _refuse(sentence: str) -> int:
    print(f"touchstone serve: {sentence}", file=sys.stderr)
    return USAGE
