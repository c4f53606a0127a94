"""A client that is over its quota is throttled. QUOT-02, QUOT-03.

Sources: KIP-13 (quotas), KIP-219 (answer first, then mute); ClientQuotaManager.java.
A quota is a mean over ten seconds, so that ten times its rate passes at once (quota.window.num,
quota.window.size.seconds); what is beyond that must be waited for.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise

import pytest

from conformance.case import Unsupported, case, expect, expect_that
from conformance.cases.fetch.test_sessions import session_of
from conformance.cases.quotas.quotas import CLIENT_ID, USER, Entity, alter, entry, quota
from conformance.cases.security.secured_wire import come_in_as
from conformance.connection import Connection
from conformance.target.examination import Examined
from conformance.target.secured import SECURED
from conformance.wire import Topic, Wire, batch, eventually, request
from reference_impl.wire import ErrorCode, Struct

RATE = 10_000
AT_ONCE = 10 * RATE
OVER_MS = 1000
"""The milliseconds that the quota RATE needs to allow the bytes that the cases send above it."""
TOO_MUCH = AT_ONCE + RATE * OVER_MS // 1000
TOLERANCE_MS = 50
ATTEMPTS_MAX = 5
READ_S = 30.0
"""Many times what three batches take with the throttle that their size is reason for."""


@dataclass
class Client:
    """One connection with a client id of its own."""

    wire: Wire
    connection: Connection
    client_id: str
    asked_at: float = 0.0
    """The time.monotonic() of the last request, just before it was sent."""

    def send(self, api: str, body: Struct) -> int:
        """Send a request, and return its version."""
        version = self.wire.version(api)
        self.asked_at = time.monotonic()
        self.connection.send(api, version, body, client_id=self.client_id)
        return version

    def call(self, api: str, body: Struct) -> Struct:
        return self.connection.receive(api, self.send(api, body))[1]

    def produce(self, topic: Topic, size: int, acks: int = -1) -> Struct:
        records = batch(bytes(size)).encode()
        return self.call("Produce", self.wire.produce_request(topic, records, acks=acks))

    def produce_too_much(self, topic: Topic, over_ms: int = OVER_MS) -> Struct:
        """Produce until an answer has a throttle, of over_ms or more, and return it: a broker
        learns of a quota a moment after it is set."""
        for _ in range(ATTEMPTS_MAX):
            answer = self.produce(topic, AT_ONCE + RATE * over_ms // 1000)
            expect(answer.responses[0].partition_responses[0].error_code, ErrorCode.NONE, "error")
            if answer.throttle_time_ms:
                break
        return answer

    def is_served(self) -> None:
        self.call("Metadata", request("Metadata", topics=[]))

    def ms_since_asked(self) -> float:
        """Return the milliseconds since the last request was sent."""
        return (time.monotonic() - self.asked_at) * 1000

    def ms_until_served(self) -> float:
        """Return the milliseconds from the last request to the answer of another one. The broker
        mutes a connection after that request was sent, but perhaps long before its answer is read
        here, so that no shorter time is evidence against a broker."""
        asked_at = self.asked_at
        self.is_served()
        return (time.monotonic() - asked_at) * 1000

    def throttle_of(self, topic: Topic, size: int) -> int:
        return int(self.produce(topic, size).throttle_time_ms)


def topic_and_client(wire: Wire) -> tuple[Topic, Client]:
    """Create a new topic, and a new client at its leader."""
    topic = wire.create_topic()
    return topic, Client(wire, wire.connect_to_leader(topic), wire.new_name("client"))


@case("QUOT-02", "Produce", spec="KIP-219, Proposed Changes", priority="P1")
def test_a_producer_over_its_quota_is_answered_then_muted(wire: Wire) -> None:
    """A batch that exceeds producer_byte_rate is appended and answered at once with
    throttle_time_ms, the time until the mean is back at the quota; the connection is not served
    before that, others are."""
    topic, client = topic_and_client(wire)
    with quota(wire, {CLIENT_ID: client.client_id}, producer_byte_rate=RATE):
        expect(client.produce(topic, 1000).throttle_time_ms, 0, "throttle below the quota")
        answer = client.produce_too_much(topic, 2 * OVER_MS)
        throttle_ms = answer.throttle_time_ms
        expect_that(
            2 * OVER_MS * 0.9 <= throttle_ms <= OVER_MS * 20,
            "throttle_time_ms",
            f"about {2 * OVER_MS}",
            throttle_ms,
        )
        expect(wire.produce(topic, batch(b"a").encode()).error_code, ErrorCode.NONE, "error")
        others_ms = client.ms_since_asked()
        waited_ms = client.ms_until_served()
        expect_that(
            waited_ms >= throttle_ms - TOLERANCE_MS,
            "the connection is muted",
            f"{throttle_ms} ms",
            f"{waited_ms:.0f} ms",
        )
        expect_that(others_ms < throttle_ms, "another client", "is served before", others_ms)


@case("QUOT-02", "Produce", spec="KIP-219; KafkaApis.handleProduceRequest", priority="P1")
def test_a_producer_without_acks_is_muted_too(wire: Wire) -> None:
    """With acks=0 there is no answer to say it, but the connection is muted all the same."""
    topic, client = topic_and_client(wire)
    with quota(wire, {CLIENT_ID: client.client_id}, producer_byte_rate=RATE):
        client.produce_too_much(topic)  # the quota is in force, and used up
        client.is_served()
        body = wire.produce_request(topic, batch(bytes(RATE)).encode(), acks=0)
        client.send("Produce", body)
        waited_ms = client.ms_until_served()
        expect_that(waited_ms >= 500, "the connection is muted", "about 1 s", waited_ms)


@case("QUOT-03", "Fetch", spec="KIP-219; KafkaApis.processResponseCallback", priority="P1")
def test_a_consumer_over_its_quota_gets_nothing_and_is_muted(wire: Wire) -> None:
    """A fetch returns no more than what passes at once. The one that would exceed
    consumer_byte_rate is answered at once, empty and with throttle_time_ms; the connection is muted
    for that time. The withheld bytes do not count, and a later fetch returns them."""
    (topic, client), size = topic_and_client(wire), 35_000
    for _ in range(3):
        wire.produce(topic, batch(bytes(size)).encode())
    ends: list[int] = []
    throttles: list[int] = []
    deadline = time.monotonic() + READ_S
    with quota(wire, {CLIENT_ID: client.client_id}, consumer_byte_rate=RATE):
        while sum(ends) < 3:
            expect_that(time.monotonic() < deadline, f"batches read in {READ_S:g} s", 3, sum(ends))
            body = wire.fetch_request(
                topic, sum(ends), max_wait_ms=500, partition_max_bytes=size + 1000
            )
            answer = client.call("Fetch", body)
            expect(answer.error_code, ErrorCode.NONE, "error")
            throttles.append(answer.throttle_time_ms)
            if answer.throttle_time_ms:
                expect(list(answer.responses), [], "topics in a throttled answer")
                waited_ms = client.ms_until_served()
                expect_that(
                    waited_ms >= answer.throttle_time_ms - TOLERANCE_MS,
                    "the connection is muted",
                    answer.throttle_time_ms,
                    waited_ms,
                )
            else:
                ends.append(len(answer.responses[0].partitions))
    expect(throttles[:2], [0, 0], "throttles of what passes at once")
    # Three batches are 105 kB: half a second too much. Had the refused one counted, it were four.
    expect_that(0 < max(throttles) < OVER_MS, "longest throttle", "about 500", throttles)


@case("QUOT-03", "Fetch", spec="KIP-219; class FetchContext, getThrottledResponse", priority="P1")
def test_a_session_goes_on_after_a_throttled_answer(wire: Wire) -> None:
    """In a fetch session a throttled answer has the id of the session, no error and no topics, and
    the session goes on with the next epoch."""
    (topic, client), size = topic_and_client(wire), 35_000
    for _ in range(3):
        wire.produce(topic, batch(bytes(size)).encode())

    def fetch(offset: int, session_id: int, epoch: int) -> Struct:
        body = wire.fetch_request(
            topic,
            offset,
            max_wait_ms=500,
            partition_max_bytes=size + 1000,
            session_id=session_id,
            session_epoch=epoch,
        )
        return client.call("Fetch", body)

    with quota(wire, {CLIENT_ID: client.client_id}, consumer_byte_rate=RATE):
        session = session_of(wire, fetch(0, 0, 0))
        read, epoch, throttled = 1, 0, 0
        deadline = time.monotonic() + READ_S
        while read < 3:
            expect_that(time.monotonic() < deadline, f"batches read in {READ_S:g} s", 3, read)
            epoch += 1
            answer = fetch(read, session, epoch)
            told = answer.error_code, answer.session_id
            expect(told, (ErrorCode.NONE, session), f"(error, session id) in epoch {epoch}")
            if answer.throttle_time_ms:
                throttled += 1
                expect(list(answer.responses), [], "topics in a throttled answer")
                client.ms_until_served()
            else:
                read += len(answer.responses)
    expect_that(throttled > 0, "throttled answers", "one or more", throttled)


@pytest.mark.parametrize(
    ("entity", "is_throttled"),
    [
        ({USER: "alice"}, True),
        ({USER: "alice", CLIENT_ID: None}, True),
        ({USER: None}, True),
        ({USER: None, CLIENT_ID: "mine"}, True),
        ({CLIENT_ID: "mine"}, True),
        ({CLIENT_ID: None}, True),
        ({USER: "bob"}, False),
        ({USER: "alice", CLIENT_ID: "other"}, False),
        ({CLIENT_ID: "other"}, False),
    ],
    ids=str,
)
@case(
    "QUOT-02",
    "Produce",
    spec="KIP-55, Quota Configuration; ClientQuotaManager",
    priority="P1",
    config=SECURED,
)
def test_quotas_concern_whom_they_name(
    wire: Wire, examined: Examined, entity: Entity, is_throttled: bool
) -> None:
    """A quota of a user, of a client id, of both, or of the default of either concerns the clients
    that it names, and no others."""
    mine = wire.new_name("mine")
    named = {kind: mine if name == "mine" else name for kind, name in entity.items()}
    client = Client(wire, come_in_as(wire, examined, "alice"), mine)
    topic = wire.create_topic()
    with quota(wire, named, producer_byte_rate=RATE):
        throttle_ms = client.produce_too_much(topic).throttle_time_ms
    expect(throttle_ms > 0, is_throttled, f"throttled ({throttle_ms} ms)")


@case(
    "QUOT-02",
    "Produce",
    spec="KIP-55, Quota Configuration; ClientQuotaManager",
    priority="P1",
    config=SECURED,
)
def test_the_most_specific_quota_decides(wire: Wire, examined: Examined) -> None:
    """Of several quotas the first of this order counts: user and client id, user and default client
    id, user, default user and client id, both defaults, default user, client id, default."""
    mine, plenty = wire.new_name("mine"), float(1 << 40)
    order: list[Entity] = [
        {USER: "bob", CLIENT_ID: mine},
        {USER: "bob", CLIENT_ID: None},
        {USER: "bob"},
        {USER: None, CLIENT_ID: mine},
        {USER: None, CLIENT_ID: None},
        {USER: None},
        {CLIENT_ID: mine},
        {CLIENT_ID: None},
    ]
    topic = wire.create_topic()
    client = Client(wire, come_in_as(wire, examined, "bob"), mine)
    for specific, general in pairwise(order):
        with (
            quota(wire, general, producer_byte_rate=RATE),
            quota(wire, specific, producer_byte_rate=plenty),
        ):
            # The general one alone would not let this through, however long it had been idle.
            throttles = [client.throttle_of(topic, TOO_MUCH) for _ in range(2)]
            expect(throttles[-1], 0, f"throttle under {dict(specific)}, not {dict(general)}")


@pytest.mark.parametrize("kind", [CLIENT_ID, USER])
@case(
    "QUOT-02",
    "Produce",
    spec="KIP-55, Quota Configuration; ClientQuotaManager",
    priority="P1",
    config=SECURED,
)
def test_a_default_quota_counts_each_client_alone(
    wire: Wire, examined: Examined, kind: str
) -> None:
    """A default quota lets each client id, or each user, send as much as it says: one that is over
    it throttles no other."""
    topic = wire.create_topic()

    def client_of(user: str) -> Client:
        return Client(wire, come_in_as(wire, examined, user), wire.new_name("client"))

    greedy, modest = client_of("alice"), client_of("bob")
    with quota(wire, {kind: None}, producer_byte_rate=RATE):
        eventually(  # other cases may have sent much as the same user, some seconds ago
            lambda: client_of("bob").throttle_of(topic, 1), lambda ms: ms == 0, "bob may send"
        )
        throttle_ms = greedy.produce_too_much(topic).throttle_time_ms
        expect_that(throttle_ms > 0, "throttle of the greedy client", "some", throttle_ms)
        expect(modest.throttle_of(topic, RATE), 0, "throttle of the other client")


PERCENTAGE = "request_percentage"
LEAST = 0.01
"""Per cent of one thread's time: a few requests of any client exceed it."""


@case("QUOT-04", "Metadata", spec="KIP-124, Request rate quotas", priority="P2")
def test_a_client_over_its_share_of_time_is_throttled_on_any_api(wire: Wire) -> None:
    """A client that takes more of the request handlers' time than request_percentage allows gets
    throttle_time_ms on Metadata, on ListGroups and on FindCoordinator, and its connection is muted;
    another client is not throttled."""
    client = Client(wire, wire.connect(), wire.new_name("client"))
    entity = {CLIENT_ID: client.client_id}
    refused = alter(wire, entry(entity, **{PERCENTAGE: LEAST}), validate_only=True)
    if refused != [ErrorCode.NONE]:
        raise Unsupported(f"the target has no quota {PERCENTAGE}")
    requests = {
        "Metadata": request("Metadata", topics=None),
        "ListGroups": request("ListGroups"),
        "FindCoordinator": request("FindCoordinator", key="g", key_type=0, coordinator_keys=["g"]),
    }
    with quota(wire, entity, **{PERCENTAGE: LEAST}):
        for api, body in requests.items():
            throttle_ms = eventually(
                lambda api=api, body=body: client.call(api, body).throttle_time_ms,  # type: ignore[misc]
                bool,
                f"{api} is throttled",
            )
            waited_ms = client.ms_until_served()
            expect_that(
                waited_ms >= throttle_ms - TOLERANCE_MS,
                f"the connection is muted after {api}",
                f"{throttle_ms} ms",
                f"{waited_ms:.0f} ms",
            )
        other = Client(wire, wire.connect(), wire.new_name("client"))
        answer = other.call("Metadata", request("Metadata", topics=[]))
        expect(answer.throttle_time_ms, 0, "throttle of another client")
