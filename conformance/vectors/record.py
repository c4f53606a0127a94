"""Record golden vectors from a target: `python -m conformance.vectors.record apache:4.3.1 FILE`.

Each API is asked in each version that the broker, or else the controller, advertises: the smallest
valid request (`minimal_requests.py`), and the same with an element in each array. Of controllers
only what cannot change the cluster is asked: they get the id of another cluster, or of a node that
does not exist.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from conformance.cases.cluster.test_controllers import at_active
from conformance.cases.framing.minimal_requests import NOBODY, REQUESTS, minimal_request
from conformance.cases.framing.subject import Subject
from conformance.connection import Connection, ConnectionClosed, NoAnswer, api_key, request
from conformance.fuzz.mutants import filled
from conformance.target.examination import CAMEL, Examined
from conformance.vectors.reader import FORMAT
from conformance.wire import Wire
from reference_impl.wire import ApiKey, Malformed, Struct, encode_request, request_definition

ANSWER_S = 5.0
DIRECTORY = Path(tempfile.gettempdir()) / "kafka-logs"
"""The data directory of the target, which some answers name: that of
Kafka's own examples."""
OF_NODES = ("broker_id", "node_id", "voter_id", "controller_id", "replica_id")


def record(target: str, file: Path) -> int:
    """Start the target, write its vectors to a file, and return how many. Remove the directory in
    which the target ran. Exit with a message if that directory exists before."""
    if DIRECTORY.exists():
        raise SystemExit(f"{DIRECTORY} exists; remove it first")
    try:
        return _record(target, file)
    finally:
        shutil.rmtree(DIRECTORY, ignore_errors=True)


def _record(target: str, file: Path) -> int:
    examined = Examined.start(target, None, None, DIRECTORY)
    wire = Wire(examined.bootstrap, examined.advertised)
    try:
        lines = sorted({*of_broker(wire), *of_controller(wire)}, key=_place)
    finally:
        wire.close()
        examined.stop()
    file.write_text("\n".join([FORMAT, f"# recorded from {target}", *lines, ""]), encoding="ascii")
    return len(lines)


def of_broker(wire: Wire) -> Iterator[str]:
    """Yield a line for each API, version and form (the smallest request, and one with an element in
    each array) that the broker answers within ANSWER_S."""
    subject = Subject(wire)
    for api in sorted(wire.advertised.keys() & REQUESTS.keys()):
        for version in _versions(api, *wire.advertised[api]):
            body = minimal_request(api, subject)
            for form in (body, filled(api, body, subject.name)):
                connection = wire.connect(ANSWER_S)
                yield from _line(connection, api, version, form)
                connection.close()


def of_controller(wire: Wire) -> Iterator[str]:
    """Yield a line for each API and version that only the controller's listener answers, for a
    cluster or node that does not exist; leave out the APIs that name neither."""
    told = at_active(wire).call("ApiVersions", 0).api_keys
    for row in told:
        api = CAMEL.get(ApiKey(row.api_key)) if row.api_key in {*ApiKey} else None
        if api is None or api in wire.advertised:
            continue
        body = request(api)
        if "cluster_id" in body._names:
            body.cluster_id = "no-such-cluster"
        elif not set(OF_NODES) & set(body._names):
            continue  # such as Envelope, which contains another request
        for name in set(OF_NODES) & set(body._names):
            setattr(body, name, NOBODY)
        for version in _versions(api, row.min_version, row.max_version):
            yield from _line(at_active(wire), api, version, body)


def _versions(api: str, first: int, last: int) -> list[int]:
    known = request_definition(api_key(api)).valid_versions
    return [version for version in known if first <= version <= last]


def _line(connection: Connection, api: str, version: int, body: Struct) -> Iterator[str]:
    """Send the request once. Yield the line of the vector, or nothing if this version cannot hold
    the request, or if the target closes the connection or does not answer."""
    try:
        asked = encode_request(api_key(api), version, version + 1000, "touchstone", body)
        connection.send_bytes(asked)
        answer = connection.receive_frame()
    except (Malformed, ConnectionClosed, NoAnswer):
        return
    yield f"{api}\t{version}\t{asked[4:].hex()}\t{answer.hex()}"


def _place(line: str) -> tuple[int, int, str]:
    _, version, asked, _ = line.split("\t")
    return int(asked[:4], 16), int(version), asked


if __name__ == "__main__":
    print(f"{record(sys.argv[1], Path(sys.argv[2])):,} vectors")
