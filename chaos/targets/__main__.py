"""`python -m chaos.targets apache:4.3.1 [--nodes 3 --proxied]`: start, say `ready`, wait, stop."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
from pathlib import Path

from chaos.targets import parse_target
from chaos.values.protocols import TargetError


def main() -> int:
    parser = argparse.ArgumentParser(prog="chaos.targets", description=__doc__)
    parser.add_argument(
        "target", help="a target such as apache[:VERSION], reference, kfake or host:port"
    )
    parser.add_argument("--nodes", type=int, default=1, help="the number of nodes (default: 1)")
    parser.add_argument("--proxied", action="store_true", help="put toxiproxy on every link")
    parser.add_argument(
        "--directory", type=Path, help="where data and logs are kept (default: temporary)"
    )
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the brokers; give the option once for each",
    )
    parser.add_argument("--bug", help="plant a bug in the reference broker")
    arguments = parser.parse_args()
    config = dict(pair.partition("=")[::2] for pair in arguments.config)
    told_to_stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="touchstone-", ignore_cleanup_errors=True) as temporary:
        directory = arguments.directory or Path(temporary)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)  # a start may be interrupted, too
        try:
            target = parse_target(arguments.target, arguments.bug)
            cluster = target.start(directory, arguments.nodes, config, arguments.proxied)
        except TargetError as error:
            print(f"chaos: {error}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            return 130
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: told_to_stop.set())
        try:
            print("ready", cluster.bootstrap, flush=True)
            told_to_stop.wait()
        finally:
            cluster.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
