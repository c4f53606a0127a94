"""Configuration by Kafka's own names, with Kafka's own defaults.

Source: Kafka documentation, Producer Configs and Consumer Configs (ProducerConfig.java,
ConsumerConfig.java, CommonClientConfigs.java of 4.3.1). A key which Kafka has and this client does
not is refused as well: a setting that does nothing would deceive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from reference_impl.client.errors import ConfigError

Parse = Callable[[Any], Any]


@dataclass(frozen=True)
class Key:
    """One configuration key: its default, and the function that turns a given value into the one to
    use. `parse` raises ValueError with words for what the value must be."""

    default: Any
    parse: Parse


def _whole(least: int, most: int = (1 << 63) - 1) -> Parse:
    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError("a whole number")
        try:
            number = int(value)
        except ValueError:
            raise ValueError("a whole number") from None
        if not least <= number <= most:
            raise ValueError(f"a whole number of at least {least} and at most {most}")
        return number

    return parse


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise ValueError("true or false")


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text that is not empty")
    return value


def _one_of(*allowed: str) -> Parse:
    def parse(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"one of {', '.join(allowed)}")
        return str(value)

    return parse


def _acks(value: Any) -> int:
    if str(value) == "all":
        return -1
    if str(value) in ("-1", "0", "1"):
        return int(value)
    raise ValueError("all, -1, 0 or 1")


def _servers(value: Any) -> list[tuple[str, int]]:
    """Parse a list of host:port, or a text of them separated by commas; IPv6 addresses are in
    brackets. Raise ValueError if a part is not host:port, or if there is none."""
    parts = value.split(",") if isinstance(value, str) else list(value)
    servers = []
    for part in (str(part).strip() for part in parts):
        host, _, port = part.rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError("host:port, several of them separated by commas")
        servers.append((host.strip("[]"), int(port)))
    if not servers:
        raise ValueError("at least one host:port")
    return servers


def _short_names(*allowed: str) -> Parse:
    """Return a parser of class names, with or without their package, in a list or separated by
    commas. It raises ValueError for other names, or if there is none."""

    def parse(value: Any) -> list[str]:
        parts = value.split(",") if isinstance(value, str) else list(value)
        names = [str(part).strip().rpartition(".")[2] for part in parts]
        if not names or not set(names) <= set(allowed):
            raise ValueError(f"a list of {', '.join(allowed)}")
        return names

    return parse


_INT_MAX = (1 << 31) - 1
_MS = _whole(0, _INT_MAX)
_BYTES = _whole(0, _INT_MAX)

COMMON: dict[str, Key] = {
    "bootstrap.servers": Key(None, _servers),
    "client.id": Key("touchstone", _text),
    "metadata.max.age.ms": Key(300_000, _MS),
    "request.timeout.ms": Key(30_000, _whole(1, _INT_MAX)),
    "retry.backoff.ms": Key(100, _MS),
    "retry.backoff.max.ms": Key(1_000, _MS),
    "reconnect.backoff.ms": Key(50, _MS),
    "reconnect.backoff.max.ms": Key(1_000, _MS),
    "socket.connection.setup.timeout.ms": Key(10_000, _whole(1, _INT_MAX)),
}

PRODUCER: dict[str, Key] = COMMON | {
    "acks": Key(-1, _acks),
    "batch.size": Key(16_384, _BYTES),
    "buffer.memory": Key(32 << 20, _whole(0)),
    "compression.type": Key("none", _one_of("none", "gzip", "snappy", "lz4", "zstd")),
    "delivery.timeout.ms": Key(120_000, _MS),
    "enable.idempotence": Key(None, _boolean),
    "linger.ms": Key(5, _MS),
    "max.block.ms": Key(60_000, _MS),
    "max.in.flight.requests.per.connection": Key(5, _whole(1, _INT_MAX)),
    "max.request.size": Key(1 << 20, _BYTES),
    "partitioner.class": Key(None, _short_names("RoundRobinPartitioner")),
    "partitioner.ignore.keys": Key(False, _boolean),
    "retries": Key(_INT_MAX, _whole(0, _INT_MAX)),
    "transaction.timeout.ms": Key(60_000, _MS),
    "transactional.id": Key(None, _text),
}

ASSIGNOR_NAMES = (
    "RangeAssignor",
    "RoundRobinAssignor",
    "StickyAssignor",
    "CooperativeStickyAssignor",
)

CONSUMER: dict[str, Key] = COMMON | {
    "allow.auto.create.topics": Key(True, _boolean),
    "auto.commit.interval.ms": Key(5_000, _MS),
    "auto.offset.reset": Key("latest", _one_of("earliest", "latest", "none")),
    "default.api.timeout.ms": Key(60_000, _MS),
    "enable.auto.commit": Key(None, _boolean),
    "fetch.max.bytes": Key(50 << 20, _BYTES),
    "fetch.max.wait.ms": Key(500, _MS),
    "fetch.min.bytes": Key(1, _BYTES),
    "group.id": Key(None, _text),
    "group.instance.id": Key(None, _text),
    "group.protocol": Key("classic", _one_of("classic", "consumer")),
    "group.remote.assignor": Key(None, _text),
    "heartbeat.interval.ms": Key(3_000, _whole(1, _INT_MAX)),
    "isolation.level": Key("read_uncommitted", _one_of("read_uncommitted", "read_committed")),
    "max.partition.fetch.bytes": Key(1 << 20, _BYTES),
    "max.poll.interval.ms": Key(300_000, _whole(1, _INT_MAX)),
    "max.poll.records": Key(500, _whole(1, _INT_MAX)),
    "partition.assignment.strategy": Key(
        ["RangeAssignor", "CooperativeStickyAssignor"], _short_names(*ASSIGNOR_NAMES)
    ),
    "session.timeout.ms": Key(45_000, _whole(1, _INT_MAX)),
}


class Config:
    """The configuration of one client: a checked value or the default for each key, read as
    `config["linger.ms"]`. Raise ConfigError for an unknown key, a value that cannot be used, or no
    bootstrap.servers."""

    def __init__(self, keys: Mapping[str, Key], given: Mapping[str, Any]) -> None:
        self._values = {name: key.default for name, key in keys.items()}
        self.given = frozenset(given)
        for name, value in given.items():
            if name not in keys:
                near = get_close_matches(name, keys, 1)
                hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(keys)}"
                raise ConfigError(f"this client has no configuration {name!r}{hint}")
            try:
                self._values[name] = keys[name].parse(value)
            except ValueError as error:
                raise ConfigError(f"{name}={value!r}: must be {error}") from None
        if self._values["bootstrap.servers"] is None:
            raise ConfigError("bootstrap.servers is missing: say host:port of a broker")

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def set_default(self, name: str, value: Any) -> None:
        """Set the value of a key that has none so far, since its default depends on other
        settings."""
        if self._values[name] is None:
            self._values[name] = value


def producer_config(given: Mapping[str, Any]) -> Config:
    """Return a producer's checked configuration, with the defaults that follow from other settings
    (ProducerConfig.postProcessAndValidate...). Raise ConfigError if a setting is unknown or wrong,
    or if settings contradict each other."""
    config = Config(PRODUCER, given)
    conflicts = _idempotence_conflicts(config)
    wanted = config["enable.idempotence"]
    if (wanted or config["transactional.id"]) and conflicts:
        raise ConfigError(f"an idempotent producer needs {' and '.join(conflicts)}")
    if wanted is False and config["transactional.id"]:
        raise ConfigError("transactional.id needs enable.idempotence=true")
    config.set_default("enable.idempotence", not conflicts)
    least_ms = config["linger.ms"] + config["request.timeout.ms"]
    if config["delivery.timeout.ms"] < least_ms:
        if "delivery.timeout.ms" in config.given:
            raise ConfigError(
                f"delivery.timeout.ms={config['delivery.timeout.ms']}: must be at least"
                f" linger.ms + request.timeout.ms, here {least_ms} (KIP-91)"
            )
        config = Config(PRODUCER, {**given, "delivery.timeout.ms": least_ms})
        config.set_default("enable.idempotence", not conflicts)
    return config


def _idempotence_conflicts(config: Config) -> list[str]:
    """Return what idempotence needs and this configuration lacks, such as "acks=all" (KIP-679):
    then the default is no idempotence, and an explicit setting is refused."""
    conflicts = []
    if config["acks"] != -1:
        conflicts.append("acks=all")
    if config["retries"] == 0:
        conflicts.append("retries above 0")
    if config["max.in.flight.requests.per.connection"] > 5:
        conflicts.append("max.in.flight.requests.per.connection of at most 5")
    return conflicts


def consumer_config(given: Mapping[str, Any]) -> Config:
    """Return a consumer's checked configuration, with the defaults that follow from other settings
    (ConsumerConfig.java). Raise ConfigError if a setting is unknown or wrong, or if settings
    contradict each other."""
    config = Config(CONSUMER, given)
    if config["enable.auto.commit"] and config["group.id"] is None:
        raise ConfigError("enable.auto.commit=true needs a group.id to commit for")
    config.set_default("enable.auto.commit", config["group.id"] is not None)
    _check_protocol(config)
    if config["heartbeat.interval.ms"] >= config["session.timeout.ms"]:
        raise ConfigError("heartbeat.interval.ms must be below session.timeout.ms")
    if config["group.instance.id"] and config["group.id"] is None:
        raise ConfigError("group.instance.id needs a group.id")
    return config


OF_ONE_PROTOCOL = {
    "classic": ("heartbeat.interval.ms", "partition.assignment.strategy", "session.timeout.ms"),
    "consumer": ("group.remote.assignor",),
}
"""Group protocol -> the keys that only this protocol has. Under KIP-848 the broker decides
about times and assignors (ConsumerConfig.java, checkUnsupportedConfigsPostProcess)."""


def _check_protocol(config: Config) -> None:
    for protocol, names in OF_ONE_PROTOCOL.items():
        alien = sorted(config.given.intersection(names))
        if alien and config["group.protocol"] != protocol:
            raise ConfigError(
                f"{alien[0]} needs group.protocol={protocol}; the other protocol has no such key"
            )
