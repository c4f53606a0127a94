"""Apache's command-line tools against the broker: topics, records, groups, transactions, logs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reference_impl.tests.clients.java_tools import Call, Said, run_tools

pytestmark = pytest.mark.needs("jdk", "kafka-jars")
TOOLS = "org.apache.kafka.tools."
COUNT = 20
TOPIC = "tools"


def calls(bootstrap: str, folder: Path) -> Iterator[Call]:
    """Yield each tool with its arguments, in an order in which each finds what it needs."""
    to_delete = folder / "delete.json"
    wanted = [{"topic": TOPIC, "partition": 0, "offset": -1}]  # its end
    to_delete.write_text(json.dumps({"version": 1, "partitions": wanted}))
    server = ("--bootstrap-server", bootstrap)

    def call(name: str, tool: str, *arguments: str, typed: tuple[str, ...] = ()) -> Call:
        return Call(name, TOOLS + tool, (*server, *arguments), typed)

    topic = ("--topic", TOPIC)
    yield call("create", "TopicCommand", "--create", *topic, "--partitions", "1")
    yield call("grow", "TopicCommand", "--alter", *topic, "--partitions", "3")
    entity = ("--entity-type", "topics", "--entity-name", TOPIC)
    for name, action in (
        ("configure", ("--alter", "--add-config", "retention.ms=3600000")),
        ("configured", ("--describe",)),
    ):
        yield Call(name, "kafka.admin.ConfigCommand", (*server, *entity, *action))
    yield call("describe", "TopicCommand", "--describe", *topic)
    yield from of_the_cluster(server, topic)
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    yield call("type", "ConsoleProducer", *topic, *keyed, typed=("a:1", "b:2", "c:3", "d:4"))
    shown = "--from-beginning --max-messages 4 --timeout-ms 20000 --group tools-console"
    with_keys = ("--formatter-property", "print.key=true")
    yield call("show", "consumer.ConsoleConsumer", *topic, *shown.split(), *with_keys)
    yield call("offsets", "GetOffsetShell", *topic)
    verifiable, group = ("--topic", "tools-verifiable"), ("--group", "tools-verifiable")
    yield call("send", "VerifiableProducer", *verifiable, "--max-messages", str(COUNT))
    received = (*verifiable, "--max-messages", str(COUNT), "--reset-policy", "earliest")
    yield call("receive", "VerifiableConsumer", *received, "--group-id", group[1])
    newer = "--group-id tools-new --group-protocol consumer --group-remote-assignor range"
    yield call("receive-anew", "VerifiableConsumer", *received, *newer.split())
    yield call("groups", "consumer.group.ConsumerGroupCommand", "--list")
    yield call("lag", "consumer.group.ConsumerGroupCommand", "--describe", *group)
    to_earliest = (*group, *verifiable, "--to-earliest", "--execute")
    yield call("reset", "consumer.group.ConsumerGroupCommand", "--reset-offsets", *to_earliest)
    yield call("forget", "consumer.group.ConsumerGroupCommand", "--delete", *group)
    yield call("all-groups", "GroupsCommand", "--list")
    yield from measured(bootstrap)
    yield call("erase", "DeleteRecordsCommand", "--offset-json-file", str(to_delete))
    yield call("directories", "LogDirsCommand", "--describe", "--topic-list", TOPIC)
    yield call("transactions", "TransactionsCommand", "list")
    state = "--describe --state --group tools-new"
    yield call("state", "consumer.group.ConsumerGroupCommand", *state.split())
    yield call("versions", "BrokerApiVersionsCommand")
    yield call("delete", "TopicCommand", "--delete", *topic)
    yield call("list", "TopicCommand", "--list")


def of_the_cluster(server: tuple[str, ...], topic: tuple[str, ...]) -> Iterator[Call]:
    """Yield calls about brokers' settings, leaders, the metadata quorum, and features in force."""
    broker = ("--entity-type", "brokers", "--entity-name", "1")
    for name, entity, action in (
        ("configure-broker", broker, ("--alter", "--add-config", "log.retention.ms=7200000")),
        (
            "configure-all",
            (*broker[:2], "--entity-default"),
            ("--alter", "--add-config", "log.retention.ms=3600000"),
        ),
        ("configured-broker", broker, ("--describe",)),
        ("unconfigure-broker", broker, ("--alter", "--delete-config", "log.retention.ms")),
        ("configured-all", (*broker[:2], "--entity-default"), ("--describe",)),
        (
            "unconfigure-all",
            (*broker[:2], "--entity-default"),
            ("--alter", "--delete-config", "log.retention.ms"),
        ),
    ):
        yield Call(name, "kafka.admin.ConfigCommand", (*server, *entity, *action))
    yield Call(
        "elect",
        TOOLS + "LeaderElectionCommand",
        (*server, "--election-type", "preferred", *topic, "--partition", "0"),
    )
    yield Call("quorum", TOOLS + "MetadataQuorumCommand", (*server, "describe", "--status"))
    yield Call("features", TOOLS + "FeatureCommand", (*server, "describe"))


def measured(bootstrap: str) -> Iterator[Call]:
    """Yield the measuring tools, the producer with transactions, and the copier."""
    options = ("--bootstrap-server", bootstrap, "--topic", "tools-perf")
    yield Call("create-perf", TOOLS + "TopicCommand", (*options, "--create", "--partitions", "1"))
    yield Call(
        "produce-perf",
        TOOLS + "ProducerPerformance",
        (
            *options,
            "--num-records",
            "2000",
            "--record-size",
            "100",
            "--throughput",
            "-1",
            "--transactional-id",
            "tools-perf",
            "--transaction-duration-ms",
            "50",
        ),
    )
    yield Call(
        "consume-perf",
        TOOLS + "ConsumerPerformance",
        (
            *options,
            "--num-records",
            "2000",
            "--timeout",
            "20000",
            "--command-property",
            "isolation.level=read_committed",
        ),
    )
    yield from of_latency(bootstrap)
    copier = (
        "--broker-list",
        bootstrap,
        "--transactional-id",
        "tools-copier",
        "--input-topic",
        "tools-perf",
        "--input-partition",
        "0",
        "--output-topic",
        "tools-copied",
        "--consumer-group",
        "tools-copier",
        "--max-messages",
        "300",
        "--transaction-size",
        "100",
    )
    yield Call("copy", TOOLS + "TransactionalMessageCopier", copier)


def of_latency(bootstrap: str) -> Iterator[Call]:
    """Yield the tool that measures latency, and before it the creation of its topic."""
    # EndToEndLatency itself creates it with one replica, too few for acks=all on three nodes.
    topic = ("--topic", "tools-latency", "--create", "--partitions", "1")
    yield Call("create-latency", TOOLS + "TopicCommand", ("--bootstrap-server", bootstrap, *topic))
    yield Call(
        "latency",
        TOOLS + "EndToEndLatency",
        (
            "--bootstrap-server",
            bootstrap,
            "--topic",
            "tools-latency",
            "--num-records",
            "20",
            "--producer-acks",
            "all",
            "--record-size",
            "100",
        ),
    )


@pytest.fixture(scope="module")
def said(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Said]:
    """Run every tool in one JVM, and return their outputs."""
    folder = tmp_path_factory.mktemp("tools")
    return run_tools(list(calls(bootstrap, folder)), folder)


def events(said: Iterable[Said], name: str) -> list[dict[str, Any]]:
    """Return the lines of a verifiable client that report one kind of event, each as an object."""
    found = [
        json.loads(line) for of in said for line in of.lines() if line.startswith('{"timestamp')
    ]
    return [each for each in found if each["name"] == name]


def test_every_tool_ends_well(said: dict[str, Said]) -> None:
    failed = {name: each.text[-500:] for name, each in said.items() if each.status != 0}
    assert failed == {}


def test_topic_command_creates_grows_describes_and_deletes(said: dict[str, Said]) -> None:
    assert f"Created topic {TOPIC}." in said["create"].text
    assert said["describe"].text.count("Leader: ") == 3
    assert "retention.ms=3600000" in said["describe"].text
    assert TOPIC not in said["list"].lines()


def test_config_command_shows_what_it_has_set(said: dict[str, Said]) -> None:
    assert f"Completed updating config for topic {TOPIC}." in said["configure"].text
    assert "retention.ms=3600000" in said["configured"].text


def test_config_command_sets_brokers_one_and_all(said: dict[str, Said]) -> None:
    shown = said["configured-broker"].text
    own = shown.index("DYNAMIC_BROKER_CONFIG:log.retention.ms=7200000")
    assert own < shown.index("DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=3600000")
    assert "log.retention.ms=3600000" in said["configured-all"].text


def test_leaders_quorum_and_features_are_shown(said: dict[str, Said], nodes: int) -> None:
    assert f"already elected for partitions {TOPIC}-0" in said["elect"].text
    quorum = dict(line.split(":", 1) for line in said["quorum"].lines())
    voters = [each["id"] for each in json.loads(quorum["CurrentVoters"])]
    assert voters == list(range(1, nodes + 1))
    assert int(quorum["LeaderId"]) in voters
    assert "metadata.version" in said["features"].text


def test_console_consumer_shows_what_the_console_producer_was_typed(said: dict[str, Said]) -> None:
    shown = [line for line in said["show"].lines() if "\t" in line]
    assert sorted(shown) == ["a\t1", "b\t2", "c\t3", "d\t4"]
    ends = [line.rsplit(":", 1) for line in said["offsets"].lines() if line.startswith(TOPIC)]
    assert (len(ends), sum(int(offset) for _, offset in ends)) == (3, 4)


def test_verifiable_consumer_receives_what_the_verifiable_producer_sent(
    said: dict[str, Said],
) -> None:
    # The producer returns before its last acknowledgements, which another's output then has.
    acknowledged = events(said.values(), "producer_send_success")
    assert sorted(int(each["value"]) for each in acknowledged) == list(range(COUNT))
    for protocol in ("receive", "receive-anew"):
        received = events([said[protocol]], "records_consumed")
        assert sum(each["count"] for each in received) == COUNT, protocol


def test_group_command_lists_describes_resets_and_deletes(said: dict[str, Said]) -> None:
    assert {"tools-console", "tools-verifiable", "tools-new"} <= set(said["groups"].lines())
    (state,) = (line.split() for line in said["state"].lines() if line.startswith("tools-new"))
    assert state[-2:] == ["Empty", "0"], said["state"].text
    rows = [line.split() for line in said["lag"].lines() if line.startswith("tools-verifiable")]
    reached, behind = (sum(int(row[column]) for row in rows) for column in (3, 5))
    assert (reached, behind) == (COUNT, 0), said["lag"].text
    reset = [line.split() for line in said["reset"].lines() if line.startswith("tools-verifiable")]
    assert [row[-1] for row in reset] == ["0", "0"]
    assert "was successful" in said["forget"].text
    types = {line.split()[0]: line.split()[1] for line in said["all-groups"].lines() if " " in line}
    assert (types["tools-console"], types["tools-new"]) == ("Classic", "Consumer")
    assert "tools-verifiable" not in types


def test_the_measuring_tools_produce_consume_and_copy_in_transactions(
    said: dict[str, Said],
) -> None:
    assert "2000 records sent" in said["produce-perf"].text
    assert said["consume-perf"].lines()[-1].split(", ")[4] == "2000"
    copied = json.loads(next(line for line in reversed(said["copy"].lines()) if line[0] == "{"))
    assert (copied["consumed"], copied["remaining"]) == (300, 0)
    listed = {line.split()[0]: line.split()[-1] for line in said["transactions"].lines()}
    assert (listed["tools-perf"], listed["tools-copier"]) == ("CompleteCommit", "CompleteCommit")


def test_delete_records_and_log_dirs_tell_of_the_log(said: dict[str, Said]) -> None:
    ends = dict(line.rsplit(":", 1) for line in said["offsets"].lines() if line[0] == "t")
    assert f"partition: {TOPIC}-0\tlow_watermark: {ends[f'{TOPIC}:0']}" in said["erase"].text
    line = next(line for line in said["directories"].lines() if line.startswith("{"))
    replicas = json.loads(line)["brokers"][0]["logDirs"][0]["partitions"]
    assert sorted(each["partition"] for each in replicas) == [f"{TOPIC}-{n}" for n in range(3)]


def test_broker_api_versions_finds_only_apis_that_it_knows(said: dict[str, Said]) -> None:
    assert "Produce(0): " in said["versions"].text
    assert "UNKNOWN" not in said["versions"].text
